# One image for every process; what follows its name is a command of `dlq-console`:
#
#   docker build -t dlq-console .
#   docker run --init -e DLQ_SECRET_KEY -v dlq:/data -p 127.0.0.1:8000:8000 dlq-console       the console
#   docker run --init -v dlq:/data dlq-console db upgrade                                     the tables
#   docker run --init -v dlq:/data -v ./handlers:/app:ro -e DLQ_APP --no-healthcheck dlq-console worker
#
# Settings and secrets come with the container, never with the image. compose.yaml starts everything at once.

FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY dlq_console dlq_console
COPY templates templates
COPY static static
RUN python -m venv --without-pip /opt/dlq-console \
    && pip --python /opt/dlq-console/bin/python install --no-cache-dir '.[all]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin console \
    && mkdir /data \
    && chown console:console /data
COPY --from=build /opt/dlq-console /opt/dlq-console
ENV PATH=/opt/dlq-console/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DLQ_DATABASE_URL=sqlite:////data/dlq-console.db

# Workers find the module that DLQ_APP names in the folder in which they start.
WORKDIR /app
VOLUME /data
EXPOSE 8000
# By number, so that a cluster can see that it is not root.
USER 10001:10001

HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["dlq-console"]
CMD ["serve", "--bind", "0.0.0.0:8000"]
