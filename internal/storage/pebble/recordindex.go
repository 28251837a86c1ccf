package pebble

// recordIndex finds the entries of a shard by the hashes of their keys, by linear probing in a
// table that is half full at most. Hashes are seeded and well mixed: Go's map would hash them once
// more, and look at more memory, which is most of what a hit costs.
type recordIndex struct {
	// slots hold the upper half of a hash, which says where the probing begins, and the position of
	// the entry plus one; 0 is free.
	slots []uint64
	live  int
}

// minIndexSlots is the size of the first table. Sizes are powers of two.
const minIndexSlots = 16

func slotOf(hash uint64, entry int32) uint64 { return hash&^(1<<32-1) | uint64(entry+1) }

func (x *recordIndex) home(slot uint64) int { return int(slot>>32) & (len(x.slots) - 1) }

// find returns where the slot of a hash is, and the position of its entry.
func (x *recordIndex) find(entries []recordEntry, hash uint64) (at int, entry int32, ok bool) {
	if x.live == 0 {
		return 0, 0, false
	}
	mask := len(x.slots) - 1
	for at = x.home(hash); ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return 0, 0, false
		}
		if slot>>32 != hash>>32 {
			continue
		}
		if entry = int32(uint32(slot)) - 1; entries[entry].hash == hash {
			return at, entry, true
		}
	}
}

// add puts in the entry of a hash that is not there.
func (x *recordIndex) add(hash uint64, entry int32) {
	if 2*(x.live+1) > len(x.slots) {
		x.grow()
	}
	x.live++
	x.put(slotOf(hash, entry))
}

func (x *recordIndex) put(slot uint64) {
	at := x.home(slot)
	for x.slots[at] != 0 {
		at = (at + 1) & (len(x.slots) - 1)
	}
	x.slots[at] = slot
}

func (x *recordIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, max(2*len(old), minIndexSlots))
	for _, slot := range old {
		if slot != 0 {
			x.put(slot)
		}
	}
}

// remove frees a slot. Those behind it, up to the next free one, move up where their probing passes
// by.
func (x *recordIndex) remove(at int) {
	mask := len(x.slots) - 1
	for next := at; ; {
		next = (next + 1) & mask
		slot := x.slots[next]
		if slot == 0 {
			break
		}
		if (next-x.home(slot))&mask >= (next-at)&mask {
			x.slots[at] = slot
			at = next
		}
	}
	x.slots[at] = 0
	x.live--
}
