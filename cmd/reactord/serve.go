package main

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// account is what the file says of it. A file that cannot be read has none: Run says why.
func (c serveCommand) account() (user, group string) {
	if c.Config == "-" { // which could not be read again
		return "", ""
	}
	conf, err := fromFile(c.Config)
	if err != nil {
		return "", ""
	}
	return conf.first.Config.User, conf.first.Config.Group
}

// Run runs the daemon as the file says.
func (c serveCommand) Run(kin *lineage) error {
	conf, err := fromFile(c.Config)
	if err != nil {
		return err
	}
	return run(conf, kin, nil)
}
