// Package agent lets load generators on several machines drive one load, for a monitor that adds up what they measure.
//
// Serve is an agent: it does what a monitor that knows its token asks for. A Fleet is the monitor's side, an engine.Driver. The databases, Setup and
// Check are the monitor's; agents only have users.
//
// The protocol is HTTP/1.1 with JSON, and "Authorization: Bearer <token>" in each request:
//
//	GET  /v1/about              what the agent is: its protocol, format of results, build and scenarios
//	POST /v1/job                a job, of which there is one at a time (409). The answer is a stream of messages, one a line, as long as the job goes on
//	POST /v1/job/{id}/start     all agents are ready: start the users
//	POST /v1/job/{id}/leave     the visitors of all agents have left: end the residents
//	POST /v1/job/{id}/stop      cut the users, and send what was measured
//
// A job ends with the connection of its stream: where the monitor has died, nobody is left to load the server. The moment of the start is that at which the
// request arrives, as clocks of machines differ.
//
// Messages of the stream are cumulative, about one a second, so that of an agent that dies only the last second is unknown. What the users did in it
// can be in the database nevertheless; a result with a lost agent says so.
//
// There is no encryption. The token, and the password in the URI of the target, are readable on the way: agents listen on loopback unless they are told
// otherwise, and an SSH tunnel (ssh -L 27900:127.0.0.1:27900 machine) brings them together over networks that others use, too.
package agent
