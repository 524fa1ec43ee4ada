"""The first table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Orders."""

    initial = True
    operations = (
        migrations.CreateModel(
            "Order",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.CharField(max_length=20, unique=True)),
                ("at_erp", models.BooleanField(default=False)),
            ],
        ),
    )
