package admin

import (
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// A password is right for one hash: another one in the file makes the same password wrong, also if it was right before.
func TestPasswords(t *testing.T) {
	var p passwords
	hash := func(password string) string {
		h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		return string(h)
	}
	old, next := hash("old"), hash("next")
	for i, c := range []struct {
		user, hash, password string
		want                 bool
	}{
		{"ops", old, "old", true}, {"ops", old, "old", true}, {"ops", old, "next", false}, {"ops", old, "old", true},
		{"ops", next, "old", false}, {"ops", next, "next", true}, {"boss", next, "old", false}, {"ops", "", "", false},
		{"ops", "", "next", false},
	} {
		if got := p.match(c.user, c.hash, c.password); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
