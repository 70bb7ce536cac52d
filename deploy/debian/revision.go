package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// revision is the commit that is packaged.
type revision struct {
	describe string // of git describe --tags --long, as v1.2.3-4-g0123456; "": there is no tag
	commit   string // short
	date     time.Time
}

func readRevision() (revision, error) {
	head, err := git("log", "-1", "--format=%h %cI")
	if err != nil {
		return revision{}, err
	}
	commit, date, _ := strings.Cut(head, " ")
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return revision{}, err
	}
	describe, err := git("describe", "--tags", "--long", "--match", "v[0-9]*")
	if err != nil {
		describe = "" // no tag
	}
	return revision{describe, commit, at.UTC()}, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// version is that of the package: each commit's is later than the one before it, and a tag's is its own.
func (r revision) version() string {
	parts := strings.Split(r.describe, "-")
	n := len(parts)
	if n < 3 {
		return "0~git" + r.date.Format("20060102.150405") + "." + r.commit
	}
	// A hyphen would begin the revision of Debian, and ~ sorts a candidate before its release.
	tag := strings.Join(parts[:n-2], "~")[len("v"):]
	if parts[n-2] == "0" {
		return tag
	}
	return tag + "+" + parts[n-2] + "." + parts[n-1]
}
