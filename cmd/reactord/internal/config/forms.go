package config

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// Each function of this file checks a form of text. It returns what is wrong and what to write instead, or "". The
// message follows the name of the setting and the quoted text; one that begins with a colon follows without a space.

func isName(s string) string {
	switch {
	case len(s) > maxName:
		return fmt.Sprintf("is longer than %d characters", maxName)
	case strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) }) >= 0:
		return ": use letters, digits, '-', '_' and '.' only"
	}
	return ""
}

// isForeignName checks a name given by a control plane.
func isForeignName(s string) string {
	if len(s) > maxForeignName {
		return fmt.Sprintf("is longer than %d bytes", maxForeignName)
	}
	return ""
}

// isControlPlane checks the address of a control plane.
func isControlPlane(s string) string {
	const advice = "write http://HOST:PORT, https://HOST:PORT or unix:///PATH"
	if file, ok := strings.CutPrefix(s, "unix://"); ok {
		if !path.IsAbs(file) {
			return "has no path: " + advice
		}
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "is not the address of a control plane: " + advice
	case u.Hostname() == "" || u.Port() == "":
		return "has no host or no port: " + advice
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "has more than an address: " + advice
	}
	return ""
}

// isHeader checks the name of an HTTP header in the form that gRPC sends.
func isHeader(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) || r >= 'A' && r <= 'Z' }) >= 0 {
		return ": use lower-case letters, digits, '-', '_' and '.' only"
	}
	return ""
}

// isServerName also allows the default names of servers: HOST:PORT, and the address of a unix socket.
func isServerName(s string) string {
	if path, ok := strings.CutPrefix(s, schemeUnix); ok {
		if _, err := parseUnix(path); err == nil {
			return ""
		}
	}
	switch {
	case len(s) > 2*maxName:
		return fmt.Sprintf("is longer than %d characters", 2*maxName)
	case strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) && !strings.ContainsRune("[]:%", r) }) >= 0:
		return ": use letters, digits, '-', '_', '.' and ':' only"
	}
	return ""
}

func isDNSName(s string) string {
	if _, err := netip.ParseAddr(s); err == nil {
		return "is an IP address: write it below servers"
	}
	if !isHostName(s) {
		return "is not a name: write it as in app.example.org, without a port"
	}
	return ""
}

func isServerHost(s string) string {
	if _, err := netip.ParseAddr(s); err == nil || isHostName(s) {
		return ""
	}
	return "is not a host: write the name that the certificate is for"
}

// isAskedFor allows a host, or "." for none.
func isAskedFor(s string) string {
	if s == "." {
		return ""
	}
	return isServerHost(s)
}

// isAdminAddress allows a socket in the file system and TCP addresses. Who can reach it is checked elsewhere.
func isAdminAddress(s string) string {
	const advice = "write unix:///PATH, or tcp://127.0.0.1:PORT"
	if file, ok := strings.CutPrefix(s, "unix://"); ok {
		switch {
		case !path.IsAbs(file):
			return "has no absolute path: write unix:///PATH"
		case len(file) > 100: // sun_path of unix(7) has 107 bytes, and the socket is made under a longer name
			return "is longer than 100 bytes, the limit for a socket's path"
		}
		return ""
	}
	a, err := ParseAddress(s)
	if err != nil || a.UDP || a.Last != 0 || a.FD != "" || a.Path != "" {
		return "is not an address: " + advice
	}
	return ""
}

func isAccount(s string) string {
	if len(s) > 256 || strings.ContainsAny(s, ": /\n\t\x00") {
		return "is not the name or the number of an account"
	}
	return ""
}

func isResolver(s string) string {
	if at, err := netip.ParseAddrPort(s); err != nil || at.Port() == 0 {
		return "is not the address of a DNS server: write an IP address and a port, as in 192.0.2.1:53 or [2001:db8::1]:53"
	}
	return ""
}

func isPath(s string) string {
	if strings.ContainsRune(s, 0) {
		return "has a zero byte"
	}
	return ""
}

func isPattern(s string) string {
	dir, last := path.Split(s)
	if _, err := path.Match(last, ""); err != nil {
		return "is not a pattern: write \\[ for a bracket of the name"
	}
	switch {
	case last == "":
		return "is a directory: write a file in it, or a pattern such as *.json"
	case strings.ContainsAny(dir, "*?"):
		return "has a pattern in a directory: only the last part may be a pattern"
	}
	return isPath(s)
}

func isURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not a URL: write http://HOST/PATH or https://HOST/PATH"
	case u.User != nil:
		return "contains a password, which logs would show: write the token into a file, and its path as token_file"
	case u.Fragment != "":
		return "has a fragment, which is never sent: remove the part from # on"
	}
	return ""
}

func isAPIServer(s string) string {
	const advice = "write https://HOST:PORT"
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not the URL of an API server: " + advice
	case u.User != nil:
		return "contains a password, which logs would show: write a token into a file, and its path as token_file"
	case u.RawQuery != "" || u.Fragment != "":
		return "has a query or a fragment: " + advice
	}
	return ""
}

func isServiceName(s string) string {
	if !isLabel(s) {
		return "is not the name of a Service: write it without its namespace, as in app"
	}
	return ""
}

func isNamespace(s string) string {
	if !isLabel(s) {
		return "is not the name of a namespace: write it as in default"
	}
	return ""
}

// isLabel reports whether s is a lower-case label of RFC 1123, as Kubernetes names are.
func isLabel(s string) bool {
	for i, c := range []byte(s) {
		inside := i > 0 && i < len(s)-1
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' && inside) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

func isHex(s string) string {
	if b, err := hex.DecodeString(s); err != nil || len(b) > maxText {
		return "is not hexadecimal: write two digits for each byte, as in 0d0a, and at most 65536 bytes"
	}
	return ""
}

func isShort(s string) string {
	if len(s) > maxText {
		return "is longer than 65536 bytes"
	}
	return ""
}

// isCredential checks a user, a password or a database of a check.
func isCredential(s string) string {
	switch {
	case len(s) > 1024:
		return "is longer than 1024 bytes"
	case strings.ContainsRune(s, 0):
		return "has a zero byte"
	}
	return ""
}

// isText checks what holds for every text.
func isText(s string) string {
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	return ""
}
