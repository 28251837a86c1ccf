package admin

import (
	"runtime"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// resources is the resource usage of the process, as the operating system reports it.
type resources struct {
	user, system             time.Duration
	maxResidentKB            int64
	pageFaults, pageReclaims int64 // page faults with and without a disk read
	blocksIn, blocksOut      int64
	voluntary, preempted     int64 // context switches
}

func statusExtraInfo(b *bsonx.Builder) {
	b.String("note", "fields vary by platform")
	if r, ok := processResources(); ok {
		b.Int64("user_time_us", r.user.Microseconds())
		b.Int64("system_time_us", r.system.Microseconds())
		b.Int64("maximum_resident_set_kb", r.maxResidentKB)
		b.Int64("input_blocks", r.blocksIn)
		b.Int64("output_blocks", r.blocksOut)
		b.Int64("page_reclaims", r.pageReclaims)
		b.Int64("page_faults", r.pageFaults)
		b.Int64("voluntary_context_switches", r.voluntary)
		b.Int64("involuntary_context_switches", r.preempted)
	}
	b.Int64("threads", int64(runtime.NumGoroutine()))
}

// statusMemory appends the section mem of serverStatus, in MiB. If the operating system does not
// report the sizes, supported is false, as in MongoDB.
func statusMemory(b *bsonx.Builder) {
	b.Int32("bits", 64)
	resident, virtual, ok := processMemory()
	if ok {
		b.Int64("resident", resident>>20)
		b.Int64("virtual", virtual>>20)
	}
	b.Bool("supported", ok)
}

// statusRequestMemory appends the usage of the memory budget that all requests share. The field
// ended counts operations that were ended because the process exceeded its memory limit in spite of
// the budget. The field endedCursors counts idle cursors that were closed to free memory. Without a
// budget it appends nothing.
func (x *statusSample) statusRequestMemory(b *bsonx.Builder) {
	if x.Memory == nil {
		return
	}
	m := x.Memory.Stats()
	b.Int64("limitBytes", m.Limit)
	b.Int64("usedBytes", m.Used)
	b.Int64("peakBytes", m.Peak)
	b.Int64("requestedBytes", m.Requested)
	b.Int64("waiting", int64(m.Waiting))
	b.Int64("refused", m.Refused)
	b.Int64("ended", x.Relief.Operations.Load())
	b.Int64("endedCursors", x.Relief.IdleCursors.Load())
}

// statusGlobalLock appends the numbers of operations that run and that wait, divided into readers
// and writers. MongoDB counts them at its global lock.
func (x *statusSample) statusGlobalLock(b *bsonx.Builder) {
	n := x.Ops.Counts()
	b.Int64("totalTime", x.Clock.Now().Sub(x.Started).Microseconds())
	for _, part := range [...]struct {
		name             string
		readers, writers int
	}{{"currentQueue", n.WaitingReaders, n.WaitingWriters}, {"activeClients", n.Readers, n.Writers}} {
		b.StartDocField(part.name)
		b.Int32("total", int32(part.readers+part.writers))
		b.Int32("readers", int32(part.readers))
		b.Int32("writers", int32(part.writers))
		b.End()
	}
}

// statusLocks appends the section locks of serverStatus. There is only the lock of fsync: writes
// take it in mode w and fsync in mode R. Reads do not take it.
func (x *statusSample) statusLocks(b *bsonx.Builder) {
	c := &x.Gate.Counts
	b.Doc("Global", bsonx.NewDoc(
		"acquireCount", bsonx.NewDoc("w", c.Writes.Load(), "R", c.Locks.Load()),
		"acquireWaitCount", bsonx.NewDoc("w", c.Waits.Load()),
		"timeAcquiringMicros", bsonx.NewDoc("w", c.WaitMicros.Load()),
	))
}

func (x *statusSample) statusSessions(b *bsonx.Builder) {
	st := x.Sessions.Stats()
	last := st.LastJob
	if last.IsZero() {
		last = x.Started
	}
	b.Int32("activeSessionsCount", int32(x.Sessions.Len()))
	b.Int32("sessionsCollectionJobCount", int32(st.Jobs))
	b.Int32("lastSessionsCollectionJobDurationMillis", int32(st.LastTook.Milliseconds()))
	b.Date("lastSessionsCollectionJobTimestamp", last.UnixMilli())
	b.Int32("lastSessionsCollectionJobEntriesRefreshed", int32(st.LastRefreshed))
	b.Int32("lastSessionsCollectionJobEntriesEnded", int32(st.LastEnded))
	b.Int32("lastSessionsCollectionJobCursorsClosed", int32(st.LastCursors))
}
