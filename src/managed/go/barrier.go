package main

import "sync"

// Every goroutine waits for the others, again and again.
type barrier struct {
	lock           sync.Mutex
	turned         *sync.Cond
	parties, there int
	turn           uint64
}

func newBarrier(parties int) *barrier {
	b := &barrier{parties: parties}
	b.turned = sync.NewCond(&b.lock)
	return b
}

func (b *barrier) wait() {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.there++; b.there == b.parties {
		b.there = 0
		b.turn++
		b.turned.Broadcast()
		return
	}
	for turn := b.turn; turn == b.turn; {
		b.turned.Wait()
	}
}
