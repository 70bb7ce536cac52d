Kind      = "api-gateway"
Name      = "gateway"
Listeners = [{ Name = "tcp", Port = 9002, Protocol = "tcp" }]
