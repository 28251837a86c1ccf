// Package queue stores jobs and gives each to one worker at a time. A worker holds a job for the
// time of a lease. A job is tried again if it fails or if its worker dies.
//
//	jobs, err := queue.New(db, queue.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := jobs.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	if _, err := jobs.Put(ctx, queue.Spec{Kind: "convert", Payload: Image{"cat.png", "cat.jpg"}}); err != nil {
//		log.Fatal(err)
//	}
//
//	worker := jobs.NewWorker(queue.Kinds{
//		"convert": queue.Typed(func(ctx context.Context, job *queue.Taken, image Image) error {
//			fmt.Println(image.Source, "becomes", image.Output)
//			cancel() // stop the worker after this job
//			return nil
//		}),
//	}.Handle, queue.WorkerConfig{})
//	if err := worker.Run(ctx); !errors.Is(err, context.Canceled) {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A program has work that a user should not have to wait for: mails, pictures, imports, calls of
// other services. This work must survive a restart of the program. One worker at a time must do
// each job, however many workers there are. A job must be tried again if its worker dies or a
// service is down. And people must be able to see jobs that do not succeed.
//
// The database that the program already uses can do this. A transaction that creates the need for a
// job can also put the job. There is no other system to operate, and queries show the jobs.
//
// When not to use it: to send the same message to many subscribers (use package topic); for more
// than a few thousand jobs a second; if jobs must finish in a fixed order, because workers can
// overtake each other.
//
// # The documents
//
//	jobs: {
//	  _id: "6632…", kind: "convertImage", state: "open", priority: 1,
//	  payload: {source: "image.png", output: "image.jpg"},
//	  created: ISODate("2026-05-01T12:00:00Z"), started: ISODate("2026-05-01T12:01:00Z"),
//	  at: ISODate("2026-05-01T12:01:30Z"), // the time from which the job may be taken; the end of the lease if taken
//	  attempt: 2, max: 10, token: NumberLong(3), owner: "host:pid",
//	  errors: [{attempt: 1, at: ISODate("…"), error: "no such host"}] // the last 10, at most 1,000 bytes each
//	}
//	indexes: {state: 1, priority: -1, at: 1, _id: 1}    // ByTime: {state: 1, at: 1, _id: 1}
//	         {unique: 1} unique, open jobs only         {batch: 1} jobs of batches     {expires: 1} TTL
//
// The field at is the time from which a job may be taken. It serves waiting, delayed, failed and
// taken jobs alike: taking a job sets at to the end of the lease. If a worker dies, its job becomes
// available again by itself, and no half-done update ever needs a repair. The states are open,
// done, dead and cancelled, and held for the follow-up job of a batch. A job is one document of at
// most 16 MiB.
//
// # Operations
//
//	Put, PutBatch                  1 insert
//	PutMany                        1 insert for each collection
//	Take                           1 findAndModify for each collection, until one has a job that is due
//	Extend, Note, Fail, Release    1 update, on {_id, token, state: "open", owner}
//	Done                           1 update; 2 if the batch has a follow-up job
//	Cancel, Requeue, Get           1 command for each collection, until the job is found
//	Stats                          2 reads for each collection
//
// A worker (NewWorker, Run) executes jobs in a configured number of goroutines. It extends the
// leases of long jobs and stops gracefully. A worker without jobs polls once a second, with one
// query for all its goroutines. If the server supports change streams, a change stream wakes the
// worker as soon as a job is put.
//
// Schedule puts periodic jobs one period ahead. The ID of such a job consists of its name and its
// time. The unique _id ensures that only one of all processes puts each job, so the processes need
// no leader.
//
// # Guarantees
//
//   - A job that was put is done, becomes a dead letter, or is cancelled. It is never lost,
//     whichever process dies. Dead letters stay until they are put back (Requeue) or removed
//     (Purge), unless Config.KeepDead limits their time.
//   - A job is done at least once. It is done again if its worker dies, or is so slow that its
//     lease ends. Only a slow worker can do a job at the same time as another worker. After a
//     worker's lease has gone to another worker, it cannot write to the job any more (ErrLost): the
//     token has changed. The token grows each time the job is taken. It can also guard the job's
//     writes to other documents, like the fence of package lock.
//   - A job can make its effects happen exactly once. DoneWith ends the job in the same transaction
//     as its writes. Without transactions, Once makes a document remember the jobs that have
//     changed it. For effects in another system, the job's ID can serve as an idempotency key. Note
//     stores the progress of the job.
//   - In each collection, jobs are taken in the order of priority and time, or of time alone. Jobs
//     that one process has put in the same millisecond keep their order. The clocks of different
//     processes may differ, but should agree to much less than a lease.
//   - Unique holds among open jobs. If a job shall be unique for a day, put the day into its ID.
//   - If a job is cancelled while a worker executes it, the handler continues until the worker's
//     next heartbeat, at most a third of a lease later.
//   - The follow-up job of a batch is opened when all jobs of the batch have succeeded. If one of
//     them is dead, the follow-up job waits until the dead job is requeued and done.
//
// # When a process dies
//
//   - Before or during Put: the job is stored or not. Put it again with the same ID.
//   - After Take: the job is taken again when its lease has ended. The attempt counts, because the
//     job itself may have killed its worker. If all attempts of a job have ended in this way, the
//     next Take moves it to the dead letters.
//   - During Done: the job is done, or will be done again.
//   - Between the two updates of Done in a batch: the follow-up job already knows that the job is
//     done. The job itself is done again, and telling the follow-up job again changes nothing.
//
// If a Put in a transaction fails with ErrExists, the server aborts the transaction.
//
// There is nothing for a Repair. If the server dies during the insert of PutBatch, the follow-up
// job may wait for jobs that do not exist. Check reports this, and calling PutBatch again adds the
// missing jobs.
//
// # Metrics
//
// The package counts queue.put, queue.taken, queue.done, queue.failed and queue.dead. It observes
// queue.run, the time that handlers take.
//
// # Scaling
//
// All workers try to take the first job of the same index, so they compete for it. Config.Spread
// divides the jobs over several collections, which Take asks in turn. On a cluster, place these
// collections on different shards (with moveCollection, or with databases that have different
// primary shards). A shard key does not help, because a job is taken by its place in the order;
// ShardKeys is therefore empty. After an increase of Spread all existing jobs are still found, but
// two open jobs with the same Unique may exist until the older ones have ended. IDs are unique in
// each collection. If a job has both an ID and a Unique, Unique selects the collection. No
// operation can read from secondaries.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", the work queue (system S34), with the
// fields startTime and endTime. There, a worker that dies keeps its job for ever, and queries can
// select jobs only by startTime: null. Leases, retries, dead letters, unique jobs and batches
// follow River, asynq and BullMQ.
package queue
