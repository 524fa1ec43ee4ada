# One image for every process of the console. The command is chosen at start:
#
#   docker run -e DLQ_SECRET_KEY=... -p 8000:8000 -v dlq:/data dlq-console             the console
#   docker run -v dlq:/data dlq-console db upgrade                                     the tables
#   docker run -e DLQ_APP=... --no-healthcheck dlq-console worker                      a worker (add your handlers)

FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[all]'

FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DLQ_DATABASE_URL=sqlite:////data/dlq-console.db

RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links=/wheels 'dlq-console[all]'

RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin console \
    && mkdir /data \
    && chown console /data
USER console
WORKDIR /data
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

ENTRYPOINT ["dlq-console"]
CMD ["serve", "--bind", "0.0.0.0:8000"]
