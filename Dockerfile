# csengine in a container, made of its Debian package: neither Node.js nor the tools and headers of
# the build are in the result. docs/install.md says how to run it.
FROM debian:12-slim AS builder
WORKDIR /src
COPY debian/control debian/control
RUN apt-get update && apt-get build-dep -y --no-install-recommends ./
COPY . .
RUN dpkg-buildpackage -us -uc -b && mkdir /packages && mv ../*.deb /packages/

FROM debian:12-slim
RUN --mount=type=bind,from=builder,source=/packages,target=/packages \
    apt-get update && \
    apt-get install -y --no-install-recommends /packages/csengine_*.deb dataset-fashion-mnist && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --system --create-home --home-dir /var/lib/csengine --shell /usr/sbin/nologin csengine
USER csengine
WORKDIR /var/lib/csengine
EXPOSE 8080
ENTRYPOINT ["csengine"]
CMD ["serve", "--root", "/var/lib/csengine/runs", "--listen", "0.0.0.0:8080", \
    "--token_file", "/run/secrets/csengine_token"]
