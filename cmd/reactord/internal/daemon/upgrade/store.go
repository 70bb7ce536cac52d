package upgrade

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// storePrefix starts the names under which the service manager keeps sockets of this program.
const storePrefix = "reactord/"

// maxRights limits the descriptors of a message. See unix(7), SCM_MAX_FD.
const maxRights = 253

// maxFDName limits a name in bytes. See sd_pid_notify_with_fds(3).
const maxFDName = 255

// Names must not contain colons there.
var (
	stored   = strings.NewReplacer("%", "%25", ":", "%3A")
	unstored = strings.NewReplacer("%25", "%", "%3A", ":")
)

// storedName returns the name of a socket that the service manager has kept for this program.
func storedName(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, storePrefix)
	return unstored.Replace(rest), ok
}

// Store makes the service manager keep exactly these sockets; before holds those that it already keeps. They survive
// a restart of the unit, with the connections queued on them, and [Inherit] finds them again. The unit needs
// FileDescriptorStoreMax=. Sockets of socket units (fd://) are left out, because the service manager keeps them
// anyway.
//
// Only names matter, and how many sockets have one: the descriptors may be copies.
func Store(before, now []Socket) error {
	if !Storing() {
		return nil
	}
	groups, names := grouped(now)
	old, oldNames := grouped(before)
	var errs []error
	for _, name := range oldNames {
		if len(old[name]) != len(groups[name]) {
			errs = append(errs, notify("FDSTOREREMOVE=1", "FDNAME="+storePrefix+stored.Replace(name)))
		}
	}
	for _, name := range names {
		if len(old[name]) == len(groups[name]) {
			continue
		}
		for fds := range slices.Chunk(groups[name], maxRights) {
			_, err := notifyFDs([]string{"FDSTORE=1", "FDNAME=" + storePrefix + stored.Replace(name)}, fds...)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Storing reports whether the service manager keeps sockets, by the environment variable FDSTORE. Since systemd 254
// the service manager sets it; with an older one, the unit does.
func Storing() bool {
	room := os.Getenv("FDSTORE")
	return room != "" && room != "0"
}

// grouped returns the descriptors by name, and the names in order.
func grouped(sockets []Socket) (groups map[string][]int, names []string) {
	groups = map[string][]int{}
	for _, s := range sockets {
		if strings.HasPrefix(s.Name, fdPrefix) || len(storePrefix+stored.Replace(s.Name)) > maxFDName {
			continue
		}
		if groups[s.Name] == nil {
			names = append(names, s.Name)
		}
		groups[s.Name] = append(groups[s.Name], s.FD)
	}
	return groups, names
}
