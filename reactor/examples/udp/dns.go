package main

import (
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const ttl = 60 // seconds

// hosts are the names that the server knows.
var hosts = map[string][]netip.Addr{
	"hello.example.":  {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
	"whoami.example.": nil, // the address of the client
}

// answer appends the reply to a message of a client to out. A message that is not a query gets none.
//
// Source: RFC 1035, section 4.
func answer(out, message []byte, client netip.Addr) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil || h.Response {
		return out
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: h.ID, Response: true, OpCode: h.OpCode, Authoritative: true, RecursionDesired: h.RecursionDesired,
	}}
	questions, err := p.AllQuestions()
	switch {
	case err != nil || len(questions) != 1:
		reply.RCode = dnsmessage.RCodeFormatError
	case h.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	default:
		reply.Questions = questions
		reply.Answers, reply.RCode = lookup(questions[0], client)
	}
	packed, err := reply.AppendPack(out)
	if err != nil {
		return out
	}
	return packed
}

// lookup returns the answers to a question.
func lookup(q dnsmessage.Question, client netip.Addr) ([]dnsmessage.Resource, dnsmessage.RCode) {
	addrs, ok := hosts[strings.ToLower(q.Name.String())]
	if !ok {
		return nil, dnsmessage.RCodeNameError
	}
	if addrs == nil {
		addrs = []netip.Addr{client}
	}
	var answers []dnsmessage.Resource
	for _, addr := range addrs {
		var body dnsmessage.ResourceBody
		switch {
		case q.Class != dnsmessage.ClassINET:
		case q.Type == dnsmessage.TypeA && addr.Is4():
			body = &dnsmessage.AResource{A: addr.As4()}
		case q.Type == dnsmessage.TypeAAAA && addr.Is6():
			body = &dnsmessage.AAAAResource{AAAA: addr.As16()}
		}
		if body != nil {
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}
			answers = append(answers, dnsmessage.Resource{Header: h, Body: body})
		}
	}
	return answers, dnsmessage.RCodeSuccess
}
