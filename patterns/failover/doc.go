// Package failover decides what a program does while its deployment changes its primary, has no
// primary, or does not answer at all.
//
//	f, err := failover.New(db, failover.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	id := bson.NewObjectID()
//	order := failover.Write{
//		Repeat: failover.Ask,
//		Do: func(ctx context.Context, db *mongo.Database) error {
//			_, err := db.Collection("orders").InsertOne(ctx, bson.D{{"_id", id}, {"item", "pen"}})
//			return err
//		},
//		Done: func(ctx context.Context, db *mongo.Database) (bool, error) {
//			n, err := db.Collection("orders").CountDocuments(ctx, bson.D{{"_id", id}})
//			return n > 0, err
//		},
//	}
//	if err := f.Write(ctx, order); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A connection breaks before the answer to a write arrives. Was it executed? To repeat it may be to
// charge a customer twice, not to repeat it may be to lose an order; the driver repeats a command
// once, and cannot know the rest. An election takes some seconds, in which there is no primary, but
// members who can be read; a network that is cut takes hours, in which each request waits until its
// time is over, and the program with it. And when nothing answers, a site may still show its front
// page of a minute ago.
//
// When not to use it: for commands that the driver's own repetition is enough for, in programs that
// people start by hand. It is no cache: Answer asks the deployment each time, as long as there is
// one.
//
// # The documents
//
// None in the database: what is remembered is outside of the deployment, in a Store, by a key that
// the program chooses:
//
//	"front-page": {value: "<html>…", at: ISODate("2026-05-01T12:00:00Z")}
//
// A Store is in memory, or a directory (Dir) that another server can serve while this one is down.
//
// # The modes
//
//	Normal       everything is asked of the primary
//	Searching    it does not answer: reads are from any member, writes wait for the next one, up to Config.Patience
//	ReadOnly     that was not enough: writes fail at once, with ErrReadOnly
//	Emergency    no member answers: reads fail at once, with ErrEmergency; Answer returns what it remembers, marked as stale
//
// Every Config.Probe one operation is tried nevertheless; when the primary answers it, the mode is
// Normal again. That operation waits up to Config.Attempt. Switch sets a mode by hand, for
// maintenance. A slow operation, or one connection that breaks, is no change of mode: a ping is
// asked first.
//
// # Operations
//
//	Read            1 attempt with the primary, or with any member; more where they do not answer
//	Write, Never    1 attempt; more only while it is certain that nothing was sent, or that the server has written nothing
//	Write, Always   attempts until there is an answer
//	Write, Ask      the same, and Done is asked before each attempt that follows a lost answer, and after one that is refused
//	Answer          Read, and 1 Save at most every Config.Refresh
//	Session         none; Token none
//
// # Guarantees
//
//   - Nothing is repeated that may have been executed, unless the caller says that it may be. The
//     caller is told ErrUncertain where that is not known, ErrReadOnly where it was certainly not
//     executed. A server that steps down is believed to have written nothing only where it says so
//     (NoWritesPerformed): its answer may be to the driver's second attempt.
//   - Ask cannot see a write that is still on its way. It needs a write that cannot be done twice,
//     such as an insert with a given _id; then the second one is refused, Done is asked once more,
//     and the caller hears the truth.
//   - A session reads what it has written, from whichever member, in whichever process goes on with
//     its token, also across a fail-over: all is with read and write concern majority. A member
//     that has not come so far makes the read wait. A server without sessions is told by the
//     driver's error of the first operation.
//   - An answer that is Stale may be of any age, which it tells (At). Nothing else is ever older
//     than the member that was read.
//   - Without sessions a read from any member may be older than the one before.
//
// # After a crash
//
//	Write, in an attempt   it was executed or not; for Ask, whoever goes on can ask Done
//	Answer, in a Save      Dir has the old answer or the new one of the key, and perhaps a file "new-…" that may be deleted
//	Session                its token still names what was written, in whichever process goes on with it
//
// Nothing is left in the database. A process that begins is Normal, and finds out.
//
// # Scaling
//
// Each process keeps its own mode, and its own probes. Reads from any member spread over the
// members, those in read-only mode too. With a mongos the modes are of what it reaches: a shard
// without a primary is seen by the operations that need it, so use one Failover for what lives and
// dies together.
//
// # Source
//
// "50 Tips and Tricks for MongoDB Developers", tips 19 (drivers do not repeat: the application
// decides by operation), 20 (no primary: go on with reads from any member that answers) and 50
// (what one connection has written, it reads). Since then drivers repeat once, by a number by which
// servers recognise a write, and sessions have replaced the connection, which was lost at every
// fail-over. "Scaling MongoDB", chapter 5: the emergency site, which does not depend on the
// deployment. They are silent about how long to wait, and how to come back.
package failover
