# The program alone: `docker build -t warpline .`, then `docker run --rm -v "$PWD:/work" warpline verify kernels`.
FROM rust:1-slim AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist -p warpline

FROM debian:stable-slim
COPY --from=build /src/target/dist/warpline /usr/local/bin/warpline
WORKDIR /work
ENTRYPOINT ["warpline"]
