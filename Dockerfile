# The gateway in an image: the single binary on a bare system, run by an ordinary user.
FROM node:22-bookworm-slim AS build
WORKDIR /trivium
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
COPY bin bin
COPY scripts/build.mjs scripts/
COPY src src
RUN npm run build

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --no-install-recommends --yes ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/trivium --create-home trivium
COPY --from=build /trivium/dist/trivium /usr/local/bin/trivium
USER 10001
WORKDIR /var/lib/trivium
VOLUME /var/lib/trivium
# The administration stays on the container's own loopback: reach it with `docker exec CONTAINER trivium keys …`.
ENV HOST=0.0.0.0 PORT=8080 TRIVIUM_DATA=/var/lib/trivium
EXPOSE 8080
# The binary is the gateway itself: after a crash the container ends, and its restart policy starts it again.
ENTRYPOINT ["trivium"]
CMD ["serve", "--no-restart"]
