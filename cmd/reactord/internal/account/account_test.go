package account

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		name, group string
		uid, gid    int
		wrong       string
	}{
		{"root", "", 0, 0, ""},
		{"0", "", 0, 0, ""},
		{"root", "7654321", 0, 7654321, ""},
		{"7654321", "root", 7654321, 0, ""},
		{"7654321", "", 0, 0, "write group, too"},
		{"no-such-user", "", 0, 0, `user "no-such-user"`},
		{"root", "no-such-group", 0, 0, `group "no-such-group"`},
	} {
		a, err := lookup(c.name, c.group)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s:%s: %v, want %s", c.name, c.group, err, c.wrong)
			}
		case err != nil || a.uid != c.uid || a.gid != c.gid:
			t.Errorf("%s:%s: %+v, %v", c.name, c.group, a, err)
		}
	}
}

// A process that runs as the user stays as it is.
func TestAlreadyThatUser(t *testing.T) {
	own, group := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	if err := Become(own, group); err != nil {
		t.Error(err)
	}
	if err := Check(own, group); err != nil {
		t.Error(err)
	}
	if Check("", "") != nil || Become("", "") != nil {
		t.Error("no user is any")
	}
	if Check(strconv.Itoa(os.Getuid()+1), group) == nil || Check(own, strconv.Itoa(os.Getgid()+1)) == nil {
		t.Error("it runs as another user, or group")
	}
}
