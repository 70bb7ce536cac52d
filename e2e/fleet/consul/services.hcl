services {
  name = "app"
  id   = "app-1"
  port = 7001
  connect { sidecar_service { port = 21001 } }
}
services {
  kind = "api-gateway"
  name = "gateway"
  id   = "gateway-1"
  port = 8443
}
