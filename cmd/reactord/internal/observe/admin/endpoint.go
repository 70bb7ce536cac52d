package admin

import (
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Endpoint is an operation of the API: a method on a path. In has the parameters, as fields with a tag path or query,
// and the body as the field Body. Out is the answer. The server's handlers, [Client], the OpenAPI document and the
// documentation are all derived from it.
type Endpoint[In, Out any] struct {
	Method string
	Path   string // with parameters in braces
	Name   string // unique name
	Doc    string // description; its first sentence is the title
	Code   int    // status code of the answer; 0 means 200
	Media  string // content type of a Raw answer
}

// Raw is an answer that is not JSON.
type Raw []byte

// Endpoints of the API.
var (
	GetStatus = Endpoint[None, Status]{http.MethodGet, "/v1/status", "getStatus",
		"The state of the daemon.", 0, ""}
	GetSnapshot = Endpoint[SnapshotQuery, Snapshot]{http.MethodGet, "/v1/snapshot", "getSnapshot",
		"All counters, what fails, and recent events, up to half a second old. The status page is drawn from it.", 0, ""}
	GetHistory = Endpoint[None, stats.History]{http.MethodGet, "/v1/history", "getHistory",
		"What has happened in the last hour. The status page draws it when it is opened.", 0, ""}
	GetPlan = Endpoint[None, Plan]{http.MethodGet, "/v1/plan", "getPlan",
		"The plan in force. Each server has its origin.", 0, ""}
	GetConfig = Endpoint[None, Raw]{http.MethodGet, "/v1/config", "getConfig",
		"The plan in force as a configuration file. Each value has a comment with its origin.",
		0, "application/yaml"}
	ListListeners = Endpoint[None, Listeners]{http.MethodGet, "/v1/listeners", "listListeners",
		"The listeners, with their counters.", 0, ""}
	GetExplanation = Endpoint[ExplanationQuery, stats.Explanation]{http.MethodGet, "/v1/explanation", "getExplanation",
		"What would happen to a connection of a client now, and why. It changes nothing.", 0, ""}
	ListBackends = Endpoint[None, Backends]{http.MethodGet, "/v1/backends", "listBackends",
		"The backends.", 0, ""}
	PauseBackend = Endpoint[PauseQuery, stats.Backend]{http.MethodPost, pausePath, "pauseBackend",
		"Pause a backend: none of its servers gets a new connection, and clients wait. Open connections go on. The pause " +
			"lasts until it is ended, or its time has passed, even across reloads and upgrades.", 0, ""}
	ResumeBackend = Endpoint[BackendKey, stats.Backend]{http.MethodDelete, pausePath, "resumeBackend",
		"End the pause of a backend: the clients that wait are released gradually.", 0, ""}
	ListServers = Endpoint[ServerQuery, Servers]{http.MethodGet, "/v1/servers", "listServers",
		"The servers, with their state and health.", 0, ""}
	GetServer = Endpoint[ServerKey, stats.Server]{http.MethodGet, serverPath, "getServer",
		"A server.", 0, ""}
	SetServer = Endpoint[ServerUpdate, stats.Server]{http.MethodPatch, serverPath, "setServer",
		"Override settings of a server. The override lasts until it is reset, even across upgrades.", 0, ""}
	ResetServer = Endpoint[ServerKey, stats.Server]{http.MethodDelete, serverPath + "/override", "resetServer",
		"Remove the override of a server, which returns to the settings of its source. One that was removed comes back; " +
			"one that was added stays.", 0, ""}
	AddServer = Endpoint[ServerAddition, stats.Server]{http.MethodPost, "/v1/backends/{backend}/servers", "addServer",
		"Add a server to a backend. It stays until it is removed, even across upgrades. As long as the file or discovery " +
			"has its address, their settings apply.", http.StatusCreated, ""}
	RemoveServer = Endpoint[ServerKey, None]{http.MethodDelete, serverPath, "removeServer",
		"Remove a server from its backend, whatever source has it. Open connections stay.", 0, ""}
	ListOverrides = Endpoint[None, Overrides]{http.MethodGet, "/v1/overrides", "listOverrides",
		"What operators have set of servers, added, removed and drained.", 0, ""}
	ClearOverrides = Endpoint[ClearQuery, Cleared]{http.MethodDelete, "/v1/overrides", "clearOverrides",
		"End overrides and drains of servers. Servers that were added leave, and those that were removed come back.", 0, ""}
	DrainServers = Endpoint[DrainServersBody, Overrides]{http.MethodPost, "/v1/overrides/drains", "drainServers",
		"Drain the servers of a locality or network, also those that come later. A state that is set of one server by " +
			"itself counts more.", 0, ""}
	UndrainServers = Endpoint[DrainedServers, Overrides]{http.MethodDelete, "/v1/overrides/drains", "undrainServers",
		"End a drain of servers, given as it began.", 0, ""}
	ListConnections = Endpoint[ConnectionQuery, Connections]{http.MethodGet, "/v1/connections", "listConnections",
		"The open connections. The answer is a page; next is the start of the next one.", 0, ""}
	ListSources = Endpoint[SourceQuery, stats.ClientSources]{http.MethodGet, "/v1/sources", "listSources",
		"The sources of clients that take the most: the top talkers.", 0, ""}
	CloseConnections = Endpoint[CloseQuery, Closed]{http.MethodDelete, "/v1/connections", "closeConnections",
		"Close connections. They are reset on both sides.", 0, ""}
	CloseConnection = Endpoint[ConnectionKey, Closed]{http.MethodDelete, "/v1/connections/{id}", "closeConnection",
		"Close a connection. It is reset on both sides.", 0, ""}
	PostReload = Endpoint[None, Reload]{http.MethodPost, "/v1/reload", "reload",
		"Read the configuration file again. If it has an error, the answer is 422, and nothing changes.", 0, ""}
	GetDrain = Endpoint[None, Drain]{http.MethodGet, "/v1/drain", "getDrain",
		"The progress of a drain.", 0, ""}
	PostDrain = Endpoint[DrainQuery, Drain]{http.MethodPost, "/v1/drain", "drain",
		"Drain the process: it stops accepting, and exits when all connections have ended.", http.StatusAccepted, ""}
	DeleteDrain = Endpoint[None, Drain]{http.MethodDelete, "/v1/drain", "undrain",
		"Undo a drain while connections are still accepted: the process becomes ready again.", 0, ""}
	PostReopen = Endpoint[None, None]{http.MethodPost, "/v1/access-log/reopen", "reopenAccessLog",
		"Reopen the file of the access log, as SIGUSR1 does, here and in the old processes of upgrades.", 0, ""}
	PostUpgrade = Endpoint[None, Upgrade]{http.MethodPost, "/v1/upgrade", "upgrade",
		"Upgrade: start the program again. The new process takes over listeners and connections, and this one ends.", 0, ""}
	GetLogLevel = Endpoint[None, LogLevel]{http.MethodGet, "/v1/log-level", "getLogLevel",
		"The lowest severity that is logged.", 0, ""}
	SetLogLevel = Endpoint[LogLevelUpdate, LogLevel]{http.MethodPut, "/v1/log-level", "setLogLevel",
		"Set the lowest severity that is logged, until the setting in the file changes or the process ends.", 0, ""}
	ListLoops = Endpoint[None, Loops]{http.MethodGet, "/v1/loops", "listLoops",
		"The loops, with their counters and their last slow turns.", 0, ""}
	GetInFlight = Endpoint[None, Raw]{http.MethodGet, "/v1/loops/in-flight", "getInFlight",
		"What is in flight on each loop, as text for people. A loop that does not answer reports how long it has been " +
			"blocked.",
		0, "text/plain; charset=utf-8"}
	ListProfiles = Endpoint[None, Profiles]{http.MethodGet, "/v1/profiles", "listProfiles",
		"The profiles of the process.", 0, ""}
	PostProfile = Endpoint[ProfileQuery, Raw]{http.MethodPost, "/v1/profiles/{name}", "recordProfile",
		"Record a profile of the process, for go tool pprof; trace is for go tool trace.", 0, "application/octet-stream"}
	ListDiscovery = Endpoint[None, Discovery]{http.MethodGet, "/v1/discovery", "listDiscovery",
		"The sources of discovery.", 0, ""}
	GetXDS = Endpoint[None, stats.ControlPlane]{http.MethodGet, "/v1/xds", "getXDS",
		"The control plane, and the state of each of its resources.", 0, ""}
	ListSets = Endpoint[None, Sets]{http.MethodGet, "/v1/sets", "listSets",
		"The live sets and their sources.", 0, ""}
	MatchSets = Endpoint[SetMatchQuery, SetMatches]{http.MethodGet, "/v1/sets/match", "matchSets",
		"The live sets that have an address or a server name, with the entries.", 0, ""}
	ListSetEntries = Endpoint[SetKey, SetEntries]{http.MethodGet, setEntriesPath, "listSetEntries",
		"The entries that were added to a set.", 0, ""}
	AddSetEntry = Endpoint[SetUpdate, SetEntry]{http.MethodPost, setEntriesPath, "addSetEntry",
		"Add an entry to a set, for a time. It stays across reloads and upgrades.", 0, ""}
	RemoveSetEntry = Endpoint[SetRemoval, None]{http.MethodDelete, setEntriesPath, "removeSetEntry",
		"Remove an entry that was added to a set.", 0, ""}
	GetOpenAPI = Endpoint[None, Raw]{http.MethodGet, "/v1/openapi.json", "getOpenAPI",
		"This API, as an OpenAPI 3.1 document.", 0, "application/json"}
)

const (
	serverPath     = "/v1/backends/{backend}/servers/{server}"
	pausePath      = "/v1/backends/{backend}/pause"
	setEntriesPath = "/v1/sets/{set}/entries"
)
