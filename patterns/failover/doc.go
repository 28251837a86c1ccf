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
// A connection breaks before the reply to a write arrives. Was the write executed? If the program
// repeats it, it may charge a customer twice. If it does not, it may lose an order. The driver
// repeats a command once and cannot know more. An election takes some seconds. During this time
// there is no primary, but other members can be read. A cut network takes hours, and every request
// waits until its timeout, and the program with it. And when no member answers, a site may still
// show its front page of a minute ago.
//
// When not to use it: for commands for which the driver's own retry is enough, in programs that
// people start by hand. The package is not a cache: Answer asks the deployment each time, as long
// as the deployment answers.
//
// # The documents
//
// The package stores no documents in the database. It stores answers outside of the deployment, in
// a Store, under keys that the program chooses:
//
//	"front-page": {value: "<html>…", at: ISODate("2026-05-01T12:00:00Z")}
//
// A Store is in memory, or a directory (Dir) that another server can serve while this program is
// down.
//
// # The modes
//
//	Normal       all operations go to the primary
//	Searching    the primary does not answer: reads go to any member, writes wait up to Config.Patience
//	             for a new primary
//	ReadOnly     there was no primary for that time: writes fail at once with ErrReadOnly
//	Emergency    no member answers: reads fail at once with ErrEmergency; Answer returns stored answers,
//	             marked as stale
//
// Every Config.Probe, one operation is tried in spite of the mode. If the primary answers it, the
// mode becomes Normal again. This operation waits up to Config.Attempt. Switch sets a mode by hand,
// for maintenance. A slow operation or a single broken connection does not change the mode: the
// package first sends a ping.
//
// # Operations
//
//	Read            1 attempt with the primary or with any member; more if it does not answer
//	Write, Never    1 attempt; more only if nothing was sent, or if the server has written nothing
//	Write, Always   attempts until there is an answer
//	Write, Ask      the same; also calls Done before each attempt that follows a lost reply, and after a
//	                refused attempt
//	Answer          a Read, and at most 1 Save every Config.Refresh
//	Session         none; Token none
//
// # Guarantees
//
//   - The package never repeats a write that may have been executed, unless the caller allows it.
//     The caller gets ErrUncertain if the result is unknown, and ErrReadOnly if the write was
//     certainly not executed. If a server steps down, its error means that nothing was written only
//     if it says so (NoWritesPerformed): the error may be the reply to the driver's second attempt.
//   - Done cannot see a write that is still on its way. Ask therefore needs a write that cannot be
//     executed twice, such as an insert with a given _id. The second attempt is then refused, Done
//     is called once more, and the caller gets the correct result.
//   - A session reads its own writes, from any member and in any process that continues with its
//     token, and also after a failover: all operations use read and write concern majority. A read
//     waits if the member has not replicated the session's writes yet. On a server without
//     sessions, the first operation returns the driver's error.
//   - A Stale answer may have any age; the field At tells it. All other results are as new as the
//     member that was read.
//   - Without a session, a read from any member may return older data than the read before it.
//
// # After a crash
//
//	Write, in an attempt   it was executed or not; with Ask, another process can call Done
//	Answer, in a Save      Dir has the old or the new answer of the key, and perhaps a file "new-…",
//	                       which may be deleted
//	Session                its token still includes its writes, in any process that continues with it
//
// Nothing is left in the database. A new process starts in the mode Normal, and detects the actual
// mode.
//
// # Scaling
//
// Each process has its own mode and sends its own probes. Reads from any member, including the
// reads in read-only mode, are spread over the members. With a mongos, the modes describe
// everything that the mongos reaches: only the operations that need a shard notice that it has no
// primary. So use a separate Failover for each set of data that fails together.
//
// # Source
//
// The pattern is in "50 Tips and Tricks for MongoDB Developers", tips 19 (drivers do not retry: the
// application decides for each operation), 20 (without a primary, continue with reads from any
// member that answers) and 50 (a connection reads its own writes). Since then, drivers retry once,
// with a number by which servers recognize a write. Sessions have replaced the connection, which
// was lost at every failover. "Scaling MongoDB", chapter 5, has the emergency site, which does not
// depend on the deployment. The books do not say how long to wait, or how to return to normal.
package failover
