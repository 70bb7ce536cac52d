package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// needs returns r, which requires at least this role.
func (r route) needs(role config.Role) route {
	r.role = role
	return r
}

// requester is who sends a request.
type requester struct {
	user string // "" if none that the web configuration file knows
	role config.Role
}

// requester returns who sends a request. The toolkit has accepted the request; the password is compared again, because
// the file may have got its first users since. So a name without a password has no role of its own.
func (a *API) requester(r *http.Request) requester {
	if a.private {
		return requester{role: config.AdminRole}
	}
	out := requester{role: a.access.DefaultRole}
	user, password, ok := r.BasicAuth()
	if !ok || a.web == "" || len(a.access.Roles) == 0 {
		return out
	}
	for _, given := range a.access.Roles {
		if given.User != user {
			continue
		}
		if c, err := readWeb(a.web); err == nil && a.passwords.match(user, string(c.Users[user]), password) {
			return requester{user, given.Role}
		}
	}
	return out
}

// admit returns a problem for a request whose sender lacks the role of the route.
func (a *API) admit(by requester, route *route) error {
	if by.role.AtLeast(route.role) {
		return nil
	}
	who := "this address gives"
	if by.user != "" {
		who = fmt.Sprintf("user %q has", clip(by.user))
	}
	return problem(http.StatusForbidden, fmt.Sprintf("%s %s requires the role %s, and %s the role %s: see admin.roles",
		route.method, route.path, route.role, who, by.role))
}

type requesterKey struct{}

// withRequester lets handlers know the sender.
func withRequester(r *http.Request, by requester) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requesterKey{}, by))
}

func roleOf(ctx context.Context) config.Role {
	by, _ := ctx.Value(requesterKey{}).(requester)
	return by.role
}
