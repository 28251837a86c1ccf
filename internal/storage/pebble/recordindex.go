package pebble

// recordIndex finds the entries of a shard by the hashes of their keys, by linear probing in a
// table that is at most half full. Go's map would hash the seeded hashes again and touch more
// memory, and memory accesses are most of the cost of a hit.
type recordIndex struct {
	// slots hold the upper half of a hash, which determines where probing begins, and the position
	// of the entry plus one. A free slot is 0.
	slots []uint64
	live  int
}

// minIndexSlots is the size of the first table. Sizes are powers of two.
const minIndexSlots = 16

func slotOf(hash uint64, entry int32) uint64 { return hash&^(1<<32-1) | uint64(entry+1) }

func (x *recordIndex) home(slot uint64) int { return int(slot>>32) & (len(x.slots) - 1) }

// find returns the slot of a hash and the position of its entry.
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

// add adds an entry with a hash that the index does not have.
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

// remove frees a slot. The following slots, up to the next free one, move up if their probing
// passes the freed slot.
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
