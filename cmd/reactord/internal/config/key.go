package config

// Key returns the key in the file of a settings field: max_connections for MaxConnections.
func Key(field string) string { return snake(field) }
