package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// One thread of ACDC: src/workloads/acdc/mutator.h, where dropping the last reference stands for free().
type mutator struct {
	*options
	thread      int
	all         []*mutator
	drifting    *barrier
	books       *books
	draws       draws
	pacer       pacer
	others      []int
	ring        [][]*sizeClass
	permanent   []*sizeClass
	outbox      []*sizeClass
	inboxLock   sync.Mutex
	inbox       []*sizeClass
	time        uint64
	allocation  time.Duration
	dropping    time.Duration
	access      time.Duration
	allocated   atomic.Uint64 // bytes
	freed       atomic.Uint64
	allocations uint64 // objects
	frees       uint64
	remotely    uint64
	byLiveness  []uint64
	byLog2      [64]uint64
}

func newMutator(o *options, thread int, all []*mutator, drifting *barrier, b *books) *mutator {
	m := &mutator{options: o, thread: thread, all: all, drifting: drifting, books: b,
		draws: newDraws(o.seed, uint64(thread)), pacer: newPacer(o.writeRatio),
		ring: make([][]*sizeClass, o.maxLiveness+o.delay), byLiveness: make([]uint64, o.maxLiveness+1)}
	for other := range o.threads {
		if other != thread {
			m.others = append(m.others, other)
		}
	}
	return m
}

func (m *mutator) run() {
	for m.time < m.ticks {
		m.tick()
	}
}

func (m *mutator) tick() {
	for allocated := uint64(0); allocated < m.quantum; {
		allocated += m.allocate()
		if m.sharesEach {
			m.share()
		}
		if m.historic {
			m.accessAll()
		}
	}
	if m.thread == 0 {
		m.books.sample(m.time, m.all)
	}
	m.share()
	m.time++
	if !m.historic {
		m.accessAll()
	}
	begin := time.Now()
	m.drop(m.slot(m.time))
	m.dropping += time.Since(begin)
	if m.thread == 0 {
		m.books.note(m.time, m)
	}
	if m.time%m.drift == 0 {
		m.drifting.wait()
	}
}

func (m *mutator) allocate() uint64 {
	p := m.draws.plan(m.options)
	made := &sizeClass{plan: p, maker: m.thread, object: objectType(p)}
	made.holders.Store(1)
	begin := time.Now()
	made.allocate()
	m.allocation += time.Since(begin)
	m.allocated.Add(made.bytes())
	m.allocations += p.count
	m.byLiveness[p.liveness] += p.count
	m.byLog2[log2(p.size)] += p.count
	if p.shared {
		m.outbox = append(m.outbox, made)
	} else {
		m.insert(made)
	}
	return made.bytes()
}

func (m *mutator) slot(time uint64) *[]*sizeClass { return &m.ring[time%uint64(len(m.ring))] }

func (m *mutator) insert(some *sizeClass) {
	to := &m.permanent
	if some.liveness != permanent {
		to = m.slot(m.time + some.liveness + m.delay)
	}
	*to = append(*to, some)
}

// Gives each class in the outbox to its receivers, which include this thread, and takes what others gave it.
func (m *mutator) share() {
	if !m.shares {
		return
	}
	receivers := int(math.Round(float64(len(m.others)) * m.receivingRatio / 100))
	for _, shared := range m.outbox {
		shared.holders.Store(int32(receivers + 1))
		m.send(shared)
		for i := range receivers {
			other := i + int(m.draws.below(uint64(len(m.others)-i)))
			m.others[i], m.others[other] = m.others[other], m.others[i]
			m.all[m.others[i]].send(shared)
		}
	}
	clear(m.outbox)
	m.outbox = m.outbox[:0]
	m.collect()
}

func (m *mutator) send(shared *sizeClass) {
	m.inboxLock.Lock()
	defer m.inboxLock.Unlock()
	m.inbox = append(m.inbox, shared)
}

func (m *mutator) collect() {
	m.inboxLock.Lock()
	defer m.inboxLock.Unlock()
	for _, each := range m.inbox {
		m.insert(each)
	}
	clear(m.inbox)
	m.inbox = m.inbox[:0]
}

func (m *mutator) accessAll() {
	if !m.accesses {
		return
	}
	begin := time.Now()
	for ahead := range m.maxLiveness {
		for _, each := range *m.slot(m.time + m.delay + ahead) {
			each.access(&m.pacer, m.iterations)
		}
	}
	for _, each := range m.permanent {
		each.access(&m.pacer, m.iterations)
	}
	m.access += time.Since(begin)
}

func (m *mutator) drop(expired *[]*sizeClass) {
	for _, each := range *expired {
		if each.holders.Add(-1) != 0 {
			continue
		}
		each.first = nil
		m.freed.Add(each.bytes())
		m.frees += each.count
		if each.maker != m.thread {
			m.remotely += each.count
		}
	}
	clear(*expired)
	*expired = (*expired)[:0]
}

// Drops everything that this thread still holds or has been sent. Not part of the measured time.
func (m *mutator) dropRest() {
	m.collect()
	for i := range m.ring {
		m.drop(&m.ring[i])
	}
	m.drop(&m.permanent)
}
