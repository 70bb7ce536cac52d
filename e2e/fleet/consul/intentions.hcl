Kind    = "service-intentions"
Name    = "app"
Sources = [{ Name = "gateway", Action = "allow" }]
