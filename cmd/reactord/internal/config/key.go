package config

// Key is the key in the file of a field of the settings: MaxConnections is max_connections.
func Key(field string) string { return snake(field) }
