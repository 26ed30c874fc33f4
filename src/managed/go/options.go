package main

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

type kind int

const (
	count kind = iota
	size
	percent
	flag
	word
)

type row struct {
	name        string
	kind        kind
	least, most uint64
	value       string
}

const mostBytes = 1 << 40

// The options of the C++ program `acdc` that a mutator without free() can have, with their ranges.
var table = []row{
	{"mode", word, 0, 0, "acdc"},
	{"pseudo-allocator", word, 0, 0, "none"},
	{"list-order", word, 0, 0, "allocation"},
	{"threads", count, 1, 1024, "1"},
	{"class-objects", count, 0, 1e9, "0"},
	{"min-size", size, 8, mostBytes, "16"},
	{"max-size", size, 8, mostBytes, "256"},
	{"min-liveness", count, 1, 1e6, "1"},
	{"max-liveness", count, 1, 1e6, "10"},
	{"deallocation-delay", count, 0, 1e6, "0"},
	{"time-quantum", size, 1, mostBytes, "262144"},
	{"ticks", count, 1, 1e9, "50"},
	{"max-time-drift", count, 0, 1e9, "0"},
	{"list-ratio", percent, 0, 100, "100"},
	{"write-access-ratio", percent, 0, 100, "10"},
	{"write-iterations", count, 1, 1e9, "1"},
	{"shared-objects-ratio", percent, 0, 100, "100"},
	{"receiving-threads-ratio", percent, 0, 100, "100"},
	{"permanent-objects-ratio", percent, 0, 100, "0"},
	{"seed", count, 0, math.MaxUint64, "1"},
	{"access-live-objects", flag, 0, 1, "true"},
	{"shared-objects", flag, 0, 1, "false"},
	{"share-each-class", flag, 0, 1, "false"},
	{"historic", flag, 0, 1, "false"},
}

var units = map[kind]map[string]float64{
	count:   {"": 1, "k": 1e3, "M": 1e6, "G": 1e9},
	size:    {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
	percent: {"": 1, "%": 1},
}

// Values of the options, and what the mutator asks for again and again.
type options struct {
	values                          map[string]any
	accounts, json                  string
	threads                         int
	classObjects                    uint64
	minSize, maxSize                uint64
	minLiveness, maxLiveness, delay uint64
	quantum, ticks, drift, seed     uint64
	listRatio, permanentRatio       float64
	writeRatio                      float64
	iterations                      uint64
	accesses, shares, sharesEach    bool
	sharedRatio, receivingRatio     float64
	historic                        bool
}

func parse(words []string) (*options, error) {
	o := &options{values: map[string]any{}}
	rows := map[string]row{}
	for _, each := range table {
		rows[each.name] = each
		o.values[each.name], _ = each.read(each.value)
	}
	for at := 0; at < len(words); at++ {
		name := strings.TrimPrefix(words[at], "--")
		positive := strings.TrimPrefix(name, "no-")
		if rows[positive].kind == flag && rows[positive].name != "" {
			o.values[positive] = positive == name
			continue
		}
		known, found := rows[name]
		if !found && name != "accounts" && name != "json" {
			return nil, fmt.Errorf("%s: under a collector there is no such option", words[at])
		}
		if at+1 == len(words) {
			return nil, fmt.Errorf("--%s: takes a value", name)
		}
		at++
		var err error
		switch name {
		case "accounts":
			o.accounts = words[at]
		case "json":
			o.json = words[at]
		default:
			o.values[name], err = known.read(words[at])
		}
		if err != nil {
			return nil, err
		}
	}
	o.settle()
	return o, o.check()
}

func (r row) read(text string) (any, error) {
	switch r.kind {
	case flag:
		return text == "true", nil
	case word:
		if text != r.value {
			return nil, fmt.Errorf("--%s: %s; allowed is %s under a collector", r.name, text, r.value)
		}
		return text, nil
	}
	digits := strings.TrimRight(text, "BkKMGi%")
	factor, known := units[r.kind][text[len(digits):]]
	refused := fmt.Errorf("--%s: %s; allowed is %d to %d", r.name, text, r.least, r.most)
	if !known {
		return nil, refused
	}
	if r.kind == percent {
		value, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(value >= 0 && value <= 100) {
			return nil, refused
		}
		return value, nil
	}
	value, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		real, isReal := strconv.ParseFloat(digits, 64)
		if isReal != nil || r.kind != size || !(real >= 0 && real*factor <= float64(r.most)) {
			return nil, refused
		}
		value, factor = uint64(real*factor), 1
	}
	over, value := bits.Mul64(value, uint64(factor))
	if over != 0 || value < r.least || value > r.most {
		return nil, refused
	}
	return value, nil
}

func (o *options) settle() {
	if o.whole("max-time-drift") == 0 {
		o.values["max-time-drift"] = o.whole("max-liveness")
	}
	o.threads = int(o.whole("threads"))
	o.classObjects = o.whole("class-objects")
	o.minSize, o.maxSize = o.whole("min-size"), o.whole("max-size")
	o.minLiveness, o.maxLiveness = o.whole("min-liveness"), o.whole("max-liveness")
	o.delay, o.quantum, o.ticks = o.whole("deallocation-delay"), o.whole("time-quantum"), o.whole("ticks")
	o.drift, o.seed, o.iterations = o.whole("max-time-drift"), o.whole("seed"), o.whole("write-iterations")
	o.listRatio, o.permanentRatio = o.ratio("list-ratio"), o.ratio("permanent-objects-ratio")
	o.writeRatio = o.ratio("write-access-ratio")
	o.sharedRatio, o.receivingRatio = o.ratio("shared-objects-ratio"), o.ratio("receiving-threads-ratio")
	o.accesses, o.shares = o.is("access-live-objects"), o.is("shared-objects")
	o.sharesEach, o.historic = o.is("share-each-class"), o.is("historic")
}

func (o *options) whole(name string) uint64  { return o.values[name].(uint64) }
func (o *options) ratio(name string) float64 { return o.values[name].(float64) }
func (o *options) is(name string) bool       { return o.values[name].(bool) }

func (o *options) check() error {
	for _, pair := range [][2]string{{"min-size", "max-size"}, {"min-liveness", "max-liveness"},
		{"deallocation-delay", "ticks"}, {"max-time-drift", "ticks"}} {
		if o.whole(pair[0]) > o.whole(pair[1]) {
			return fmt.Errorf("--%s: %d is more than --%s", pair[0], o.whole(pair[0]), pair[1])
		}
	}
	if o.ticks <= 2*o.maxLiveness {
		return fmt.Errorf("--ticks: no longer than the warm-up of 2 x --max-liveness")
	}
	if !o.historic {
		return nil
	}
	if bits.OnesCount64(o.minSize) != 1 || bits.OnesCount64(o.maxSize) != 1 || o.minSize == o.maxSize {
		return fmt.Errorf("--historic allows powers of two for --min-size and --max-size, not equal to each other")
	}
	if o.shares || o.permanentRatio != 0 {
		return fmt.Errorf("--historic allows neither --shared-objects nor --permanent-objects-ratio")
	}
	if o.seed == 0 || o.seed > 2_147_482_000 {
		return fmt.Errorf("--seed: --historic allows 1 to 2147482000")
	}
	return nil
}
