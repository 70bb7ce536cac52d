package account

import (
	"fmt"
	"os/user"
	"slices"
	"strconv"
)

// ids has the numeric IDs of an account.
type ids struct {
	uid, gid int
	groups   []int // supplementary ones
}

// lookup finds a user and a group by name or number. An empty group means the user's.
func lookup(name, group string) (a ids, err error) {
	u, err := user.Lookup(name)
	if number, wrong := strconv.Atoi(name); err != nil && wrong == nil {
		if u, err = user.LookupId(name); err != nil {
			if group == "" {
				return a, fmt.Errorf("user %s has no name on this machine, and so no group: write group, too", name)
			}
			a.uid = number
			u, err = nil, nil
		}
	}
	if err != nil {
		return a, fmt.Errorf("user %q: %w", name, err)
	}
	if u != nil {
		if a.uid, err = strconv.Atoi(u.Uid); err != nil {
			return a, err
		}
		if a.gid, err = strconv.Atoi(u.Gid); err != nil {
			return a, err
		}
		a.groups = groupsOf(u)
	}
	if group != "" {
		if a.gid, err = lookupGroup(group); err != nil {
			return a, err
		}
	}
	return a, nil
}

// groupsOf returns the supplementary groups of a user, or none if they cannot be found.
func groupsOf(u *user.User) (all []int) {
	texts, _ := u.GroupIds()
	for _, text := range texts {
		if id, err := strconv.Atoi(text); err == nil {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

func lookupGroup(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		return strconv.Atoi(g.Gid)
	}
	if number, wrong := strconv.Atoi(name); wrong == nil {
		return number, nil
	}
	return 0, fmt.Errorf("group %q: %w", name, err)
}

// Name returns the name of the user that the process runs as, or its number.
func Name() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(euid())
}
