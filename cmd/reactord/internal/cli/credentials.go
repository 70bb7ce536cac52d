package cli

import (
	"os"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// Credentials has the flags of commands that call a running daemon: those that authenticate it, and the caller.
type Credentials struct {
	CACert       string `name:"cacert" env:"REACTORD_CACERT" placeholder:"FILE" help:"Certificates in PEM that the server's is signed with; else those of the system."`
	Cert         string `env:"REACTORD_CERT" placeholder:"FILE" help:"Client certificate in PEM."`
	Key          string `env:"REACTORD_KEY" placeholder:"FILE" help:"Key of the client certificate, if it is not in the same file."`
	User         string `env:"REACTORD_USER" placeholder:"NAME" help:"Name for basic authentication. The password is in REACTORD_PASSWORD, or in a file."`
	PasswordFile string `env:"REACTORD_PASSWORD_FILE" placeholder:"FILE" help:"File with the password, in one line."`
}

// access returns an address with the credentials of the flags and the environment.
func (c *Credentials) access(address string) (admin.Access, error) {
	a := admin.Access{
		Address: address, CACert: c.CACert, Cert: c.Cert, Key: c.Key, User: c.User,
		Password: os.Getenv("REACTORD_PASSWORD"),
	}
	switch {
	case strings.Contains(c.User, ":"):
		return a, credentialsError("--user is a name only, because other users see command lines: the password is in " +
			"REACTORD_PASSWORD, or in a file that --password-file names")
	case c.PasswordFile != "" && c.User == "":
		return a, credentialsError("a password has no use without its user: write --user, too")
	case c.PasswordFile != "":
		text, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return a, err
		}
		a.Password = strings.TrimRight(string(text), "\r\n")
	}
	return a, nil
}

// credentialsError reports invalid credentials of any command.
type credentialsError string

func (e credentialsError) Error() string        { return string(e) }
func (e credentialsError) Is(target error) bool { return target == errFlags }
