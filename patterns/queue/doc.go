// Package queue stores jobs and gives each to one worker at a time. A worker takes a job for a
// lease; a job that fails, or whose worker dies, is tried again.
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
//			cancel() // stop when this one is done
//			return nil
//		}),
//	}.Handle, queue.WorkerConfig{})
//	if err := worker.Run(ctx); !errors.Is(err, context.Canceled) {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A program has work that shall not be done while somebody waits for an answer: mails, pictures,
// imports, calls of other services. It has to survive the program, be done by one worker at a time
// however many there are, come back when a worker dies or a service is away, and be seen by people
// when it does not succeed.
//
// A database that is there anyway does it: a job can be put by the same transaction that creates
// the need for it, there is nothing else to operate, and jobs are looked at with queries.
//
// When not to use it: to tell many listeners the same (package topic); for more than some thousands
// of jobs a second; where the order of the jobs' ends matters, as two workers overtake each other.
//
// # The documents
//
//	jobs: {
//	  _id: "6632…", kind: "convertImage", state: "open", priority: 1, payload: {source: "image.png", output: "image.jpg"},
//	  created: ISODate("2026-05-01T12:00:00Z"), started: ISODate("2026-05-01T12:01:00Z"),
//	  at: ISODate("2026-05-01T12:01:30Z"),        // may be taken from then on; of one that was taken, the end of the lease
//	  attempt: 2, max: 10, token: NumberLong(3), owner: "host:pid",
//	  errors: [{attempt: 1, at: ISODate("…"), error: "no such host"}]      // the last 10, of 1,000 bytes each
//	}
//	indexes: {state: 1, priority: -1, at: 1, _id: 1}    // ByTime: {state: 1, at: 1, _id: 1}
//	         {unique: 1} unique, of the open ones       {batch: 1} of those that have one       {expires: 1} TTL
//
// One field, at, says of waiting, delayed, failed and taken jobs alike when they may be taken: to
// take a job is to move its time to the end of a lease. So a worker that dies needs nobody who
// notices it, and there is no state between two updates that would have to be mended. The states
// are open, done, dead and cancelled, and held for the job that follows a batch. A job is one
// document of at most 16 MiB.
//
// # Operations
//
//	Put, PutBatch                  1 insert
//	PutMany                        1 insert for each collection
//	Take                           1 findAndModify for each collection that has nothing due, and one for the one that has
//	Extend, Note, Fail, Release    1 update, on {_id, token, state: "open", owner}
//	Done                           the same; one update more before it where a job follows the batch
//	Cancel, Requeue, Get           1 command for each collection until the job is found
//	Stats                          2 reads for each collection
//
// Workers (NewWorker, Run) do jobs in as many goroutines as they are told, extend the leases of
// those that last, and stop gracefully. A worker without jobs looks for some once a second, all its
// goroutines together, and is woken at once by a change stream where the server has them.
//
// Jobs that come back (Schedule) are put one period ahead under an ID that says name and time: the
// unique _id lets one of all processes do it, and there is no leader who could be away.
//
// # Guarantees
//
//   - A job that was put is done or becomes a dead letter, or somebody cancels it. It is not lost,
//     whoever dies. Dead letters stay until they are put back (Requeue) or removed (Purge), unless
//     KeepDead says otherwise.
//   - A job is done at least once: again if its worker died, or was so slow that its lease ended.
//     Two workers do it at the same time only in the latter case. The one whose lease went to
//     another can write nothing about the job any more (ErrLost): the token tells them apart. It
//     grows with each taking, and can guard what the job writes elsewhere, as package lock does
//     with its own.
//   - Exactly once is what a job makes of it. DoneWith ends the job in the transaction that has its
//     effects. Once lets a document remember which jobs have changed it, where there are no
//     transactions. For effects elsewhere the job's ID is the key by which the other side can know
//     a repetition; Note keeps how far the job has come.
//   - Jobs are taken in the order of priority and time, or of time alone, in each collection. Of
//     those put by one process in the same millisecond the one that was put first comes first;
//     clocks of several processes may differ. They should agree to well within a lease.
//   - Unique holds among open jobs. A job that shall be unique for a day gets an ID that says the
//     day.
//   - A job that is cancelled while it is being done goes on until its worker's next heartbeat, a
//     third of a lease later.
//   - The job that follows a batch is opened when all others have succeeded. If one of them is dead
//     it waits until that is requeued.
//
// # When a process dies
//
//   - Before or in Put: the job is there or not. Put it again with the same ID.
//   - Behind Take: the job is taken again when its lease has ended; the attempt counts, as the job
//     may have been what killed its worker. One whose attempts are used up in this way is buried by
//     whoever takes it next.
//   - Before Done is heard: the job is done, or will be done again.
//   - Between the two updates of Done in a batch: the job that follows knows already. The job
//     itself is done again; knowing it twice is the same.
//
// A Put that is refused with ErrExists ends the transaction that it is part of.
//
// There is nothing for a Repair. Should the server die in the middle of the insert of PutBatch, the
// job that follows may wait for some that do not exist: Check says so, and calling PutBatch again
// adds them.
//
// # Metrics
//
// The counters queue.put, queue.taken, queue.done, queue.failed and queue.dead; queue.run, how long
// handlers took.
//
// # Scaling
//
// All takers want the first job of the same index, which is where they meet. Spread divides the
// jobs over several collections that are asked in turn; on a cluster these are placed on different
// shards (moveCollection, or a primary shard of a database of its own). No shard key helps, as a
// job is taken by its place in the order, and ShardKeys is empty. When Spread is increased all jobs
// are still found, but those with the same Unique may be in two collections until the earlier ones
// have ended. IDs are unique in each collection: where both an ID and Unique are given, Unique
// decides which one that is. Nothing can be read from secondaries.
//
// # Source
//
// "The Little MongoDB Schema Design Book", the work queue (system S34), where jobs have startTime
// and endTime: a worker that dies there keeps its job for ever, and startTime: null is the only
// state that a query can choose by. Leases, retries, dead letters, unique jobs and batches are what
// River, asynq and BullMQ have taught people to expect.
package queue
