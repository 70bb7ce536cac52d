package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapTLS is what the words of TLS say, of a bind line, a server line, or the defaults of the global section.
type hapTLS struct {
	on         bool
	min, max   config.TLSVersion
	ciphers    []string
	curves     []string
	alpn       []string
	noTickets  bool
	crt        []string // files and directories
	crtList    string
	verify     string
	ca, crl    string
	verifyHost string
	sni        string // an expression
}

// hapVersions has HAProxy's names of TLS versions.
var hapVersions = map[string]config.TLSVersion{
	"sslv3": config.TLS10, "tlsv1.0": config.TLS10, "tlsv1.1": config.TLS11, "tlsv1.2": config.TLS12,
	"tlsv1.3": config.TLS13, "tlsv10": config.TLS10, "tlsv11": config.TLS11, "tlsv12": config.TLS12,
	"tlsv13": config.TLS13,
}

// tlsUnneeded has words of TLS without which nothing is missing, with the number of their values.
var tlsUnneeded = map[string]struct {
	values int
	why    string
}{
	"ciphersuites":          {1, "the cipher suites of TLS 1.3 are fixed, and all are secure"},
	"prefer-client-ciphers": {0, "crypto/tls orders the cipher suites"},
	"no-sslv3":              {0, "there is no SSL 3"},
	"no-tlsv10":             {0, "TLS 1.2 is the lowest version by default"},
	"no-tlsv11":             {0, "TLS 1.2 is the lowest version by default"},
	"ecdhe":                 {1, "crypto/tls chooses the curve"},
	"tls-tickets":           {0, "tickets are on by default"},
	"ssl-reuse":             {0, "sessions with servers are not resumed"},
	"no-ssl-reuse":          {0, "sessions with servers are not resumed"},
	"no-ca-names":           {0, "only a hint for clients"},
	"npn":                   {1, "replaced by ALPN"},
	"stateless":             {0, "tickets are on by default"},
	"generate-certificates": {0, ""}, // left out: see tlsLeftOut
}

// tlsLeftOut has words of TLS that have no counterpart, with the number of their values.
var tlsLeftOut = map[string]struct {
	values int
	why    string
}{
	"generate-certificates": {0, "certificates are files"},
	"ca-sign-file":          {1, "certificates are files"},
	"ca-sign-pass":          {1, "certificates are files"},
	"ca-verify-file":        {1, "client_ca is the only list of authorities"},
	"crt-ignore-err":        {1, "a certificate with an error is refused"},
	"ca-ignore-err":         {1, "a certificate with an error is refused"},
	"allow-0rtt":            {0, "early data can be replayed, and is refused"},
	"strict-sni":            {0, "a client whose name no certificate has gets one of the list: routes by sni refuse it"},
	"tls-ticket-keys": {1, "the keys have another length: write tls.ticket_keys, a file of openssl rand -base64 " +
		"32"},
	"no-tlsv12":      {0, "write min_version"},
	"no-tlsv13":      {0, "write max_version"},
	"sigalgs":        {1, "crypto/tls chooses the signature algorithm"},
	"client-sigalgs": {1, "crypto/tls chooses the signature algorithm"},
	"ocsp-update":    {1, "fetch the OCSP response by a timer: certificates.ocsp"},
}

// tlsWord reads a word of TLS, and returns how many words it took, or 0 if it is none.
func (h *haproxy) tlsWord(l *hapLine, t *hapTLS, words []string) int {
	value := ""
	if len(words) > 1 {
		value = words[1]
	}
	switch word := words[0]; word {
	case "ssl":
		t.on = true
		return 1
	case "no-ssl":
		t.on = false
		return 1
	case "no-tls-tickets":
		t.noTickets = true
		return 1
	case "ssl-min-ver", "ssl-max-ver":
		v, ok := hapVersions[strings.ToLower(value)]
		switch {
		case !ok:
			h.wordLeftOut(l, word+" "+value, "the version is unknown")
		case word == "ssl-min-ver":
			t.min = v
		default:
			t.max = v
		}
	case "ciphers":
		t.ciphers = h.ciphers(l, value)
	case "curves":
		t.curves = h.curves(l, value)
	case "alpn":
		t.alpn = strings.Split(value, ",")
	case "crt":
		t.crt = append(t.crt, base(h.global.crtBase, value))
	case "crt-list":
		t.crtList = value
	case "ca-file":
		t.ca = base(h.global.caBase, value)
	case "crl-file":
		t.crl = base(h.global.caBase, value)
	case "verify":
		t.verify = value
	case "verifyhost":
		t.verifyHost = value
	case "sni":
		t.sni = value
	default:
		return h.rareTLSWord(l, t, word, value)
	}
	return 2
}

func (h *haproxy) rareTLSWord(l *hapLine, t *hapTLS, word, value string) int {
	if version, ok := strings.CutPrefix(word, "force-"); ok && hapVersions[version] != "" {
		t.min, t.max = hapVersions[version], hapVersions[version]
		return 1
	}
	if w, ok := tlsLeftOut[word]; ok {
		h.wordLeftOut(l, withValue(word, value, w.values), "%s", w.why)
		return 1 + w.values
	}
	if w, ok := tlsUnneeded[word]; ok {
		h.add(l.place, word, Unneeded, "", "%s", w.why)
		return 1 + w.values
	}
	return 0
}

// opensslCiphers has OpenSSL's names of the cipher suites that crypto/tls has.
var opensslCiphers = func() map[string]string {
	all := map[string]string{"DES-CBC3-SHA": "TLS_RSA_WITH_3DES_EDE_CBC_SHA"}
	for _, name := range config.Ciphers {
		open := strings.TrimPrefix(name, "TLS_")
		open = strings.NewReplacer("RSA_WITH_", "RSA_", "ECDSA_WITH_", "ECDSA_", "AES_128", "AES128", "AES_256", "AES256",
			"CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305", "CBC_", "").Replace(open)
		if rest, ok := strings.CutPrefix(open, "RSA_"); ok {
			open = rest
		}
		all[strings.ReplaceAll(open, "_", "-")] = name
	}
	return all
}()

// ciphers translates a list of cipher suites in OpenSSL's names.
func (r *Report) ciphersOf(at place, list string) (all []string) {
	var unknown []string
	for name := range strings.SplitSeq(list, ":") {
		switch known, ok := opensslCiphers[name]; {
		case ok:
			all = append(all, known)
		case strings.HasPrefix(name, "!"), strings.HasPrefix(name, "-"), strings.HasPrefix(name, "TLS_"), name == "":
		case strings.HasPrefix(name, "DHE-"):
			r.add(at, name, Differs, "tls.ciphers", "crypto/tls has no finite-field Diffie-Hellman: clients use the others")
		default:
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		r.add(at, "ciphers", Differs, "", "%s is not a cipher suite that crypto/tls has: the secure ones of Go are used",
			strings.Join(unknown, ", "))
		return nil
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (h *haproxy) ciphers(l *hapLine, list string) []string { return h.ciphersOf(l.place, list) }

// opensslCurves has OpenSSL's names of the key exchanges that crypto/tls has.
var opensslCurves = map[string]string{
	"x25519": "X25519", "prime256v1": "P-256", "secp256r1": "P-256", "p-256": "P-256", "secp384r1": "P-384",
	"p-384": "P-384", "secp521r1": "P-521", "p-521": "P-521", "x25519mlkem768": "X25519MLKEM768",
}

// curvesOf translates a list of key exchanges in OpenSSL's names.
func (r *Report) curvesOf(at place, list string) (all []string) {
	for name := range strings.SplitSeq(list, ":") {
		if known, ok := opensslCurves[strings.ToLower(name)]; ok {
			all = append(all, known)
		} else {
			r.add(at, name, LeftOut, "", "crypto/tls does not have this key exchange")
		}
	}
	return all
}

func (h *haproxy) curves(l *hapLine, list string) []string { return h.curvesOf(l.place, list) }

// withDefaults fills in what the global section says.
func (t hapTLS) withDefaults(d hapTLS) hapTLS {
	if t.min == "" && t.max == "" {
		t.min, t.max = d.min, d.max
	}
	if t.ciphers == nil {
		t.ciphers = d.ciphers
	}
	if t.curves == nil {
		t.curves = d.curves
	}
	t.noTickets = t.noTickets || d.noTickets
	return t
}

// serverTLS returns the TLS settings of a listener.
func (h *haproxy) serverTLS(l *hapLine, t hapTLS) config.ServerTLS {
	c := config.NewListener().TLS
	if !t.on {
		return c
	}
	t = t.withDefaults(h.global.bind)
	c.MinVersion, c.MaxVersion = versions(t.min, t.max)
	if c.MinVersion < config.TLS13 {
		c.Ciphers = t.ciphers
	}
	c.Curves, c.ALPN, c.Tickets = t.curves, t.alpn, !t.noTickets
	for _, crt := range t.crt {
		c.Certificates = append(c.Certificates, h.certificates(l, crt)...)
	}
	if t.crtList != "" {
		c.Certificates = append(c.Certificates, h.certificateList(l, t.crtList)...)
	}
	if len(c.Certificates) == 0 {
		c.Certificates = []config.Certificate{{Cert: "/etc/reactord/REPLACE.pem"}}
		h.supply(l, "tls.certificates", "the file of the certificate")
	}
	switch t.verify {
	case "required":
		c.ClientAuth = config.RequireClientAuth
	case "optional":
		c.ClientAuth = config.RequestClientAuth
	}
	if c.ClientAuth != config.NoClientAuth {
		c.ClientCA, c.ClientCRL = t.ca, t.crl
		if t.ca == "" {
			c.ClientCA = "/etc/reactord/REPLACE-clients.pem"
			h.supply(l, "tls.client_ca", "the authorities of clients")
		}
	}
	return c
}

// versions fills in the default versions.
func versions(least, greatest config.TLSVersion) (config.TLSVersion, config.TLSVersion) {
	if greatest == "" {
		greatest = config.TLS13
	}
	if least == "" {
		least = min(config.TLS12, greatest)
	}
	return least, greatest
}

// certificates returns the certificates of a file, or of all files of a directory.
func (h *haproxy) certificates(l *hapLine, name string) []config.Certificate {
	if h.Files != nil {
		if files, err := h.Files.ReadDir(name); err == nil {
			return h.directory(l, name, files)
		}
	}
	if strings.HasSuffix(name, "/") || path.Ext(name) == "" && !strings.HasPrefix(name, "@") {
		h.supply(l, "tls.certificates", "the files of the directory %s, which cannot be read here: one entry each", name)
		return []config.Certificate{{Cert: path.Join(name, "REPLACE.pem")}}
	}
	return []config.Certificate{h.certificate(name)}
}

// directory returns the certificates of a directory as HAProxy loads them.
func (h *haproxy) directory(l *hapLine, dir string, files []string) (all []config.Certificate) {
	for _, file := range files {
		switch path.Ext(file) {
		case ".key", ".issuer", ".ocsp", ".sctl":
		default:
			if !strings.HasPrefix(file, ".") {
				all = append(all, h.certificate(path.Join(dir, file)))
			}
		}
	}
	h.differs(l, "tls.certificates", "the files that are in %s now; new ones must be added", dir)
	return all
}

// certificate returns a file with its certificate, and the files next to it that HAProxy loads, too.
func (h *haproxy) certificate(name string) config.Certificate {
	c := config.Certificate{Cert: name}
	if h.Files == nil {
		return c
	}
	if text, err := h.Files.ReadFile(name); err == nil && !strings.Contains(text, "PRIVATE KEY-----") {
		for _, key := range []string{name + ".key", strings.TrimSuffix(name, path.Ext(name)) + ".key"} {
			if _, err := h.Files.ReadFile(key); err == nil {
				c.Key = key
				break
			}
		}
	}
	if _, err := h.Files.ReadFile(name + ".ocsp"); err == nil {
		c.OCSP = name + ".ocsp"
	}
	return c
}

// certificateList reads a crt-list: a file, options in brackets, and names in each line.
func (h *haproxy) certificateList(l *hapLine, name string) (all []config.Certificate) {
	text, err := h.readFile(name)
	if err != nil {
		h.supply(l, "tls.certificates", "the certificates of %s, which cannot be read here: one entry each", name)
		return []config.Certificate{{Cert: "/etc/reactord/REPLACE.pem"}}
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) > 1 {
			h.add(l.place, line, Differs, "tls.certificates", "the names are those of the certificate, and options of a "+
				"certificate are left out")
		}
		all = append(all, h.certificate(base(h.global.crtBase, words[0])))
	}
	return all
}

// clientTLS returns the TLS settings of a backend by those of a server.
func (h *haproxy) clientTLS(l *hapLine, t hapTLS) config.ClientTLS {
	c := config.NewBackend().TLS
	t = t.withDefaults(h.global.server)
	c.Enabled = true
	c.MinVersion, c.MaxVersion = versions(t.min, t.max)
	if c.MinVersion < config.TLS13 {
		c.Ciphers = t.ciphers
	}
	c.Curves, c.ALPN = t.curves, t.alpn
	if len(t.crt) > 0 {
		c.Cert = t.crt[0]
	}
	name, known := h.serverName(l, t.sni)
	if t.verify == "none" || t.verify == "" && h.global.verifyNone {
		c.Insecure = true
		if c.ServerName = name; !known {
			c.ServerName = "." // HAProxy sends no name
		}
		return c
	}
	if t.ca != "@system-ca" {
		c.CA = t.ca
	}
	if c.CA != "" {
		c.CRL = t.crl
	}
	switch {
	case t.verifyHost != "" && name != "" && name != t.verifyHost:
		c.ServerName, c.SANs = name, []string{"dns:" + t.verifyHost}
	case t.verifyHost != "":
		c.ServerName = t.verifyHost
	case known:
		c.ServerName = name
	default:
		c.ServerName, c.SANs = ".", []string{config.AnySAN}
		h.differs(l, "tls.sans", "as with HAProxy, any name is accepted: server_name would verify one")
	}
	return c
}

// serverName returns the name of an sni expression: "" and true for the client's own.
func (h *haproxy) serverName(l *hapLine, expression string) (name string, known bool) {
	if constant, ok := strings.CutPrefix(expression, "str("); ok {
		return strings.Trim(strings.TrimSuffix(constant, ")"), `"'`), true
	}
	switch expression {
	case "":
		return "", false
	case "ssl_fc_sni", "req.ssl_sni", "req_ssl_sni":
		return "", true
	}
	h.wordLeftOut(l, "sni "+expression, "only a constant, or the client's own name: tls.server_name")
	return "", false
}

// readFile reads a file that the configuration names.
func (s *Source) readFile(name string) (string, error) {
	if s.Files == nil {
		return "", errNoFiles
	}
	return s.Files.ReadFile(name)
}
