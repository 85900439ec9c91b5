# The image of redisop itself; Redis pods use the official Redis images and nothing of this.
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY redisop redisop
RUN python3 -m venv /opt/redisop && /opt/redisop/bin/pip install --no-cache-dir .

FROM ${BASE}
COPY --from=build /opt/redisop /opt/redisop
ENV PATH=/opt/redisop/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["redisop"]
CMD ["--help"]
