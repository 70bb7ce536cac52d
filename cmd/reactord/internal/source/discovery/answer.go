package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// question is a DNS question.
type question struct {
	name string // lower case, with the final dot
	kind dnsmessage.Type
}

func (q question) String() string {
	return strings.TrimSuffix(q.name, ".") + " " + strings.TrimPrefix(q.kind.String(), "Type")
}

// answer is the answer to a question.
type answer struct {
	addresses []netip.Addr // sorted
	services  []service    // sorted
	ttl       time.Duration
}

// service is an SRV record, with the addresses of its target if they came along. See RFC 2782.
type service struct {
	target           string // lower case, with the final dot
	port             uint16
	priority, weight uint16
	addresses        []netip.Addr
}

// Limits of an answer.
const (
	maxAliases  = 16
	maxServices = 1000
	maxTTL      = 7 * 24 * time.Hour // RFC 8767, section 4
)

// Errors of a single exchange.
var (
	errForeign   = errors.New("not an answer to the question")
	errTruncated = errors.New("truncated answer")
	errFormat    = errors.New("DNS server does not understand the question")
)

// read extracts the records of a message that answer q. It returns errForeign if the message is not for q and id; the
// caller then waits for another one.
func read(message []byte, id uint16, q question) (answer, error) {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil || !h.Response || h.ID != id || h.OpCode != 0 {
		return answer{}, errForeign
	}
	asked, err := p.AllQuestions()
	if err != nil || len(asked) > 1 || len(asked) == 0 && h.RCode == dnsmessage.RCodeSuccess {
		return answer{}, errForeign
	}
	if len(asked) == 1 && !q.same(asked[0]) {
		return answer{}, errForeign
	}
	if h.Truncated {
		return answer{}, errTruncated
	}
	if err := codeError(q, h); err != nil {
		return answer{}, err
	}
	records, err := p.AllAnswers()
	if err != nil {
		return answer{}, malformed(err)
	}
	a, err := collect(q, records)
	if err != nil || q.kind != dnsmessage.TypeSRV {
		return a, err
	}
	a.additional(&p)
	return a, nil
}

func malformed(err error) error { return fmt.Errorf("%w: malformed message: %w", errFailure, err) }

func (q question) same(other dnsmessage.Question) bool {
	return other.Type == q.kind && other.Class == dnsmessage.ClassINET && lower(other.Name) == q.name
}

func lower(n dnsmessage.Name) string { return strings.ToLower(n.String()) }

// codeError converts the response code of a message to an error.
func codeError(q question, h dnsmessage.Header) error {
	switch h.RCode {
	case dnsmessage.RCodeSuccess:
		return nil
	case dnsmessage.RCodeNameError:
		return fmt.Errorf("%v: %w", q, errNoName)
	case dnsmessage.RCodeFormatError, dnsmessage.RCodeNotImplemented:
		return fmt.Errorf("%w: %w (%s)", errFailure, errFormat, codeName(h.RCode))
	default:
		return fmt.Errorf("%w: %s", errFailure, codeName(h.RCode))
	}
}

// codeName returns the name of a response code in RFC 1035 and its successors.
func codeName(c dnsmessage.RCode) string {
	switch c {
	case dnsmessage.RCodeFormatError:
		return "FORMERR"
	case dnsmessage.RCodeServerFailure:
		return "SERVFAIL"
	case dnsmessage.RCodeNotImplemented:
		return "NOTIMP"
	case dnsmessage.RCodeRefused:
		return "REFUSED"
	default:
		return fmt.Sprintf("code %d", c)
	}
}

// collect follows the aliases of the question's name to the records at their end. The TTL is the shortest of all of
// these records.
func collect(q question, records []dnsmessage.Resource) (answer, error) {
	a := answer{ttl: maxTTL}
	name := q.name
	for range maxAliases {
		next := ""
		for _, r := range records {
			if r.Header.Class != dnsmessage.ClassINET || lower(r.Header.Name) != name {
				continue
			}
			switch body := r.Body.(type) {
			case *dnsmessage.CNAMEResource:
				next = lower(body.CNAME)
			case *dnsmessage.AResource, *dnsmessage.AAAAResource, *dnsmessage.SRVResource:
				if r.Header.Type != q.kind {
					continue
				}
				a.add(body)
			default:
				continue
			}
			a.ttl = min(a.ttl, ttlOf(r.Header))
		}
		if !a.empty() || next == "" {
			return a.sorted(q, name)
		}
		name = next
	}
	return answer{}, fmt.Errorf("%w: %v: more than %d aliases (CNAME)", errFailure, q, maxAliases)
}

// ttlOf returns a record's TTL. By RFC 2181, section 8, one with the highest bit set is 0.
func ttlOf(h dnsmessage.ResourceHeader) time.Duration {
	if h.TTL > 1<<31-1 {
		return 0
	}
	return time.Duration(h.TTL) * time.Second
}

func (a *answer) empty() bool { return len(a.addresses) == 0 && len(a.services) == 0 }

func (a *answer) add(body dnsmessage.ResourceBody) {
	switch body := body.(type) {
	case *dnsmessage.AResource:
		a.addresses = append(a.addresses, netip.AddrFrom4(body.A))
	case *dnsmessage.AAAAResource:
		a.addresses = append(a.addresses, netip.AddrFrom16(body.AAAA).Unmap())
	case *dnsmessage.SRVResource:
		if target := lower(body.Target); target != "." { // "." means that there is no such service
			a.services = append(a.services, service{
				target: target, port: body.Port, priority: body.Priority, weight: body.Weight,
			})
		}
	}
}

// sorted puts the answer in an order that does not depend on that of the records. name is the end of the aliases.
func (a *answer) sorted(q question, name string) (answer, error) {
	if a.empty() {
		kind := question{name, q.kind}.String()
		if name != q.name {
			return answer{}, fmt.Errorf("%v: %w: the name is an alias without a record %s", q, errEmpty, kind)
		}
		return answer{}, fmt.Errorf("%v: %w: no such record", q, errEmpty)
	}
	if len(a.services) > maxServices {
		return answer{}, fmt.Errorf("%w: %v: more than %d records", errFailure, q, maxServices)
	}
	slices.SortFunc(a.addresses, netip.Addr.Compare)
	a.addresses = slices.Compact(a.addresses)
	slices.SortFunc(a.services, func(x, y service) int {
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(y.weight, x.weight),
			cmp.Compare(x.target, y.target), cmp.Compare(x.port, y.port))
	})
	return *a, nil
}

// additional collects the addresses of targets that came with the answer. Errors there are ignored: targets without
// addresses are looked up.
func (a *answer) additional(p *dnsmessage.Parser) {
	if p.SkipAllAuthorities() != nil {
		return
	}
	records, err := p.AllAdditionals()
	if err != nil {
		return
	}
	of := map[string]answer{}
	for _, r := range records {
		if r.Header.Class != dnsmessage.ClassINET {
			continue
		}
		switch r.Body.(type) {
		case *dnsmessage.AResource, *dnsmessage.AAAAResource:
			name := lower(r.Header.Name)
			known := of[name]
			known.add(r.Body)
			of[name] = known
			a.ttl = min(a.ttl, ttlOf(r.Header))
		}
	}
	for i := range a.services {
		s := &a.services[i]
		s.addresses = slices.Clone(of[s.target].addresses)
		slices.SortFunc(s.addresses, netip.Addr.Compare)
		s.addresses = slices.Compact(s.addresses)
	}
}
