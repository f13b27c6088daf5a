# Builds an image of the service for a PostgreSQL of your own (DATABASE_URL). It has no embedded PostgreSQL. docs/operations.md
# describes how to run it. `npm run image` lays out the same files without a container engine and starts them.

FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# The bundler is a development package, and its programs are optional packages.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY LICENSE ./
COPY docs docs
COPY cli cli
COPY client client
COPY console console
COPY examples examples
COPY scripts scripts
COPY src src
RUN npm run build bundle

FROM node:24-slim
ENV NODE_ENV=production NODE_COMPILE_CACHE=compiled HOST=0.0.0.0 METRICS_HOST=0.0.0.0 SPOOL_DIR=/var/lib/tablewright
WORKDIR /app
COPY --from=build /build/dist/bundle ./
# This start compiles all modules and keeps the result for later starts. It then ends because the file of the authority does not
# exist. The result belongs to one user, so the user is the same as below.
RUN mkdir -m 777 compiled
USER node
RUN TOKEN_SECRET=$(node -p 'crypto.randomUUID()') DATABASE_URL='postgresql://nobody@127.0.0.1:1/none?sslrootcert=missing' node main.js 2>&1 | grep 'sslrootcert of DATABASE_URL'
USER root
# A new volume gets the mode of the folder that it is mounted on, so any user can write to the volume.
RUN chmod 755 compiled && mkdir -p -m 1777 ../var/lib/tablewright
USER node
EXPOSE 8080
# A service without its database is still healthy: a restart would not help. `/readyz` tells whether the database answers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "main.js"]
