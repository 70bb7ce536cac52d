package main

import "text/template"

// The limits are raised for 3 000 pairs.

var reactordConfig = template.Must(template.New("reactord.yaml").Parse(`ring: {{.Ring}}
loops: {{.Loops}}
{{- with .MinWait}}
min_wait: {{.}}
{{- end}}
listeners:
  - name: bench
    address: tcp://{{.Listen}}
    backend: upstream
backends:
  - name: upstream
    servers: [tcp://{{.Upstream}}]
`))

var nginxConfig = template.Must(template.New("nginx.conf").Parse(`load_module ` + nginxModule + `;
daemon off;
worker_processes {{.Loops}};
worker_cpu_affinity {{.CPUMask}};
worker_rlimit_nofile 16384;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/error.log;
events { worker_connections 8192; }
stream {
	server {
		listen {{.Listen}} backlog=4096;
		proxy_pass {{.Upstream}};
	}
}
`))

var haproxyConfig = template.Must(template.New("haproxy.cfg").Parse(`global
	nbthread {{.Loops}}
	cpu-map 1/1-{{.Loops}} {{.CPU}}
	maxconn 8192
defaults
	mode tcp
	timeout connect 5s
	timeout client 10m
	timeout server 10m
listen bench
	bind {{.Listen}} backlog 4096
	server upstream {{.Upstream}}
`))
