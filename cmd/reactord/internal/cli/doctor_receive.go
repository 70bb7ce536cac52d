package cli

import (
	"fmt"
	"io/fs"
	"math/bits"
	"path"
	"strconv"
	"strings"
)

// receiver describes how a network interface spreads what it receives over the CPUs.
type receiver struct {
	name   string
	queues int // of which the CPU that takes the interrupt processes the packets
	spread int // CPUs that process the packets of the other queues, by RPS
}

// readReceivers finds the interfaces that are up, except the loopback device, and the CPUs that process their packets.
// See Documentation/networking/scaling.rst of the kernel.
func readReceivers(root fs.FS) (all []receiver) {
	names, _ := fs.Glob(root, "sys/class/net/*/operstate")
	for _, file := range names {
		if readText(root, file) != "up" {
			continue
		}
		dir := path.Dir(file)
		r, masks := receiver{name: path.Base(dir)}, []uint32{}
		queues, _ := fs.Glob(root, dir+"/queues/rx-*/rps_cpus")
		for _, queue := range queues {
			mask := parseMask(readText(root, queue))
			if len(mask) == 0 {
				r.queues++
			}
			for i, word := range mask {
				if i == len(masks) {
					masks = append(masks, 0)
				}
				masks[i] |= word
			}
		}
		for _, word := range masks {
			r.spread += bits.OnesCount32(word)
		}
		all = append(all, r)
	}
	return all
}

// parseMask returns the words of a mask such as "1,ffffffff", the lowest first; none if no bit is set.
func parseMask(text string) (words []uint32) {
	none := true
	parts := strings.Split(text, ",")
	for i := range parts {
		word, _ := strconv.ParseUint(parts[len(parts)-1-i], 16, 32)
		words, none = append(words, uint32(word)), none && word == 0
	}
	if none {
		return nil
	}
	return words
}

// incomingCPU reports whether the setting incoming_cpu helps on this machine. It gives no advice: few have the setting.
func (s *system) incomingCPU() finding {
	f := finding{name: "incoming_cpu", value: "no network interface is up"}
	if s.incomingErr != nil {
		f.value = "has no effect: " + s.incomingErr.Error()
		return f
	}
	var texts []string
	for _, r := range s.receivers {
		text := fmt.Sprintf("%s: can help, %d of %d CPUs receive", r.name, min(r.queues+r.spread, s.cpus), s.cpus)
		if r.queues+r.spread < s.cpus {
			text = fmt.Sprintf("%s: %d of %d CPUs receive, and only their loops would have connections, unless RPS "+
				"spreads packets: echo %s > /sys/class/net/%s/queues/rx-0/rps_cpus", r.name, r.queues+r.spread, s.cpus,
				allCPUs(s.online), r.name)
		}
		texts = append(texts, text)
	}
	if len(texts) != 0 {
		f.value = strings.Join(texts, "; ")
	}
	return f
}

// allCPUs returns the mask of the first n CPUs.
func allCPUs(n int) string {
	words := []string{}
	for ; n > 0; n -= 32 {
		words = append([]string{fmt.Sprintf("%x", uint32(1<<min(n, 32)-1))}, words...)
	}
	return strings.Join(words, ",")
}
