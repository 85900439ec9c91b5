# The image of redisop itself; Redis pods use the official Redis images and nothing of this.
#
#     docker build --tag registry.example.com/redisop:0.1.0 .
#
# BASE is any image with Python 3.11 or later and its venv module.
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
COPY requirements.txt /
# Of the Kubernetes client its configuration, credentials and connections are used; the rest is generated, and large.
RUN python3 -m venv /pip \
 && python3 -m venv --without-pip /opt/redisop \
 && /pip/bin/pip --python /opt/redisop/bin/python install --no-cache-dir --no-compile --no-deps --require-hashes -r /requirements.txt \
 && cd /opt/redisop/lib/python3*/site-packages \
 && rm -r kubernetes/aio kubernetes/client/api kubernetes/client/apis \
 && find kubernetes/client/models -name '*.py' ! -name __init__.py -delete
COPY redisop /redisop
# Bytecode that is not compared with its source at each start, and that a read-only file system need not take.
RUN mv /redisop /opt/redisop/lib/python3*/site-packages/ \
 && /opt/redisop/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/redisop/lib \
 && /opt/redisop/bin/python -m redisop version

FROM ${BASE}
COPY --from=build /opt/redisop /opt/redisop
ENV HOME=/ PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["/opt/redisop/bin/python", "-m", "redisop"]
CMD ["--help"]
