package cli

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type schemaCommand struct{}

// Run prints the JSON Schema of configuration files.
func (schemaCommand) Run() error { return config.Schema(os.Stdout) }
