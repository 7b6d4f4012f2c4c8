# rls alone, static, as a user without rights:
#   docker build -t rls --build-arg VERSION=$(git describe --tags --always) .
#   docker run -p 8081:8081 -p 8080:8080 -v $PWD/config/examples:/etc/rls:ro rls
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY pkg pkg
COPY proto proto
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o bin/rls ./cmd/rls

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="rls" \
      org.opencontainers.image.description="A rate-limit service for Envoy" \
      org.opencontainers.image.source="https://github.com/eb50146d/rls" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /src/bin/rls /rls
# Rule files are mounted here.
WORKDIR /etc/rls
USER 65532:65532
# gRPC, and HTTP for health and metrics.
EXPOSE 8081 8080
ENTRYPOINT ["/rls"]
CMD ["serve", "--config", "/etc/rls"]
