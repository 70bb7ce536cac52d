// Package grafana tests the form of the dashboards that are beside it. Package e2e runs their queries. It has no code
// that is used.
//
// A dashboard that was changed in Grafana and exported gets its form back with go test ./deploy/grafana -update.
package grafana
