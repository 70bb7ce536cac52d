package main

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// Run runs the daemon as the file says.
func (c serveCommand) Run(kin *lineage) error {
	conf, err := fromFile(c.Config)
	if err != nil {
		return err
	}
	return run(conf, kin, nil)
}
