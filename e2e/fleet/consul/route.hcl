Kind     = "tcp-route"
Name     = "app"
Services = [{ Name = "app" }]
Parents  = [{ Kind = "api-gateway", Name = "gateway", SectionName = "tcp" }]
