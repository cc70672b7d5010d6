// Package config reads the configuration of a gateway, from a file, the environment and
// flags; it names everything that is wrong with it at once, and where each value is from.
package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/telemetry"
	"github.com/lockgw/lockgw/session"
)

// Config is every setting of the gateway, and the one place that lists them.
// The yaml tags make the key of each in the file, in the environment
// (backend.url is LOCKGW_BACKEND_URL) and as a flag (--backend-url). The
// jsonschema tags say what is allowed, to the schema and to the loader alike.
//
// Own tags: positive:"true" refuses a duration of 0; reload:"true" marks a key whose
// change a reload applies; secret:"true" a file that not everybody should read;
// gone:"text=why" a text that was allowed once.
type Config struct {
	Node     string   `yaml:"node" jsonschema_description:"name shown to others"`
	StateDir string   `yaml:"state_dir" jsonschema_description:"directory of what survives a restart"`
	HTTP     HTTP     `yaml:"http"`
	Socket   Socket   `yaml:"socket"`
	Backend  Backend  `yaml:"backend"`
	Lock     Lock     `yaml:"lock"`
	Session  Session  `yaml:"session"`
	Fairness Fairness `yaml:"fairness"`
	Limits   Limits   `yaml:"limits"`
	Shutdown Shutdown `yaml:"shutdown"`
	Access   Access   `yaml:"access"`
	Admin    Admin    `yaml:"admin"`
	Log      Log      `yaml:"log"`
	History  History  `yaml:"history"`

	Telemetry Telemetry `yaml:"telemetry"`
}

// HTTP is HTTP over TCP.
type HTTP struct {
	Listen       []string `yaml:"listen" jsonschema_description:"addresses host:port for HTTP over TCP; an empty list: none"`
	AllowedHosts []string `yaml:"allowed_hosts" jsonschema_description:"host names that a request over TCP may be addressed to besides the loopback names"`
	TLS          TLS      `yaml:"tls"`
}

// TLS are the files of TLS; none of them: no TLS.
type TLS struct {
	CertFile     string `yaml:"cert_file" jsonschema_description:"PEM file of the server's certificate chain"`
	KeyFile      string `yaml:"key_file" secret:"true" jsonschema_description:"PEM file of its private key"`
	ClientCAFile string `yaml:"client_ca_file" jsonschema_description:"PEM file of the authorities whose client certificates are asked for and accepted"`
}

// Socket are the Unix sockets.
type Socket struct {
	Dir   string   `yaml:"dir" jsonschema_description:"directory of http.sock and resp.sock"`
	Mode  FileMode `yaml:"mode" jsonschema_description:"permissions of the sockets, octal"`
	Group string   `yaml:"group" jsonschema_description:"group of the sockets, a name or a number"`
}

// Backend is the store.
type Backend struct {
	URL          string        `yaml:"url" jsonschema_description:"the store: memory://, redis://host:6379/0, rediss://..., redis+unix:///path, redis+sentinel://h1,h2,h3/master, redis+cluster://h1,h2, redlock://h1,h2,h3, etcd://h1,h2,h3, zookeeper://h1,h2,h3, postgres://user@host:5432/database, mysql://user@host:3306/database"`
	URLFile      string        `yaml:"url_file" secret:"true" jsonschema_description:"file with the URL, in place of url"`
	PasswordFile string        `yaml:"password_file" secret:"true" jsonschema_description:"file with the password that belongs to the URL"`
	KeyPrefix    string        `yaml:"key_prefix" jsonschema_description:"put before every lock name in the store"`
	Timeout      time.Duration `yaml:"timeout" positive:"true" jsonschema_description:"how long one operation may wait for the store"`
	FenceFloor   int           `yaml:"fence_floor" jsonschema:"minimum=0" jsonschema_description:"fences of names that the store does not know begin above it; lockgw floor prints the number when another store is left"`
	Redis        Redis         `yaml:"redis"`
	Postgres     Postgres      `yaml:"postgres"`
	MySQL        MySQL         `yaml:"mysql"`
}

// Redis is what matters to a Redis alone.
type Redis struct {
	Guard    string        `yaml:"guard" jsonschema:"enum=quarantine,enum=none" gone:"wait=a replica that has heard of a grant need not be the one that takes over; use quarantine" jsonschema_description:"what happens when Redis was restarted or failed over and may have forgotten a grant: quarantine grants nothing new for lock.ttl, none does nothing"`
	FenceTTL time.Duration `yaml:"fence_ttl" jsonschema_description:"how long a fence counter for RFencedLock outlives its last use by a gateway; 0 makes none, and raises the one that a Java program has made"`
	Eviction string        `yaml:"eviction" jsonschema:"enum=refuse,enum=read-only" jsonschema_description:"when Redis may drop locks: refuse does not start; read-only starts and grants no new ones"`
	Publish  string        `yaml:"publish" jsonschema:"enum=auto,enum=publish,enum=spublish,enum=both" jsonschema_description:"how Redisson's programs hear of a release; auto as Redisson: spublish in a cluster, publish otherwise"`
}

// Postgres is what matters to a PostgreSQL alone.
type Postgres struct {
	Guard     string `yaml:"guard" jsonschema:"enum=quarantine,enum=none" jsonschema_description:"what happens when PostgreSQL was restarted, failed over or restored and may have forgotten a grant: quarantine grants nothing new for lock.ttl, none does nothing"`
	ListenURL string `yaml:"listen_url" jsonschema_description:"address of the same database without a pooler in between, where url goes through one: messages to the gateway need it; without a user, those of url count"`
}

// MySQL is what matters to a MySQL or MariaDB alone.
type MySQL struct {
	Guard string `yaml:"guard" jsonschema:"enum=quarantine,enum=none" jsonschema_description:"what happens when MySQL or MariaDB was restarted, failed over or restored and may have forgotten a grant: quarantine grants nothing new for lock.ttl, none does nothing"`
}

// Lock are defaults and bounds of holds and waits.
type Lock struct {
	TTL     time.Duration `yaml:"ttl" positive:"true" jsonschema_description:"lease of a hold that asks for none"`
	MaxWait time.Duration `yaml:"max_wait" positive:"true" jsonschema_description:"longest wait that one request may ask for"`
	Delay   time.Duration `yaml:"delay" jsonschema_description:"how long nobody is granted a name that one held alone and lost: by break, max_hold or the end of its lease, also if the gateway is gone"`
}

// Session is what sessions live by.
type Session struct {
	Keepalive        time.Duration `yaml:"keepalive" positive:"true" jsonschema_description:"silence that ends a session that asks for no other"`
	Reattach         time.Duration `yaml:"reattach" positive:"true" jsonschema_description:"how long a connection may take to come back after a restart"`
	AnonymousMaxHold time.Duration `yaml:"anonymous_max_hold" positive:"true" jsonschema_description:"longest hold without proof of life"`
}

// Fairness says who is next.
type Fairness struct {
	Mode        string        `yaml:"mode" jsonschema:"enum=turns,enum=strict" jsonschema_description:"turns: a node passes a name on among its own callers; strict: one order over all nodes"`
	MaxTurns    int           `yaml:"max_turns" jsonschema:"minimum=1" jsonschema_description:"turns that a node takes while another node waits"`
	MaxTurnTime time.Duration `yaml:"max_turn_time" positive:"true" jsonschema_description:"how long a node goes on with turns while another node waits"`
	ExactOwner  bool          `yaml:"exact_owner" jsonschema_description:"write the owner of every turn into the store"`
	Retain      time.Duration `yaml:"retain" jsonschema_description:"how long a node keeps a name that nobody uses for its own next caller; who wants it elsewhere gets it at once; at most 1s, and a third of lock.ttl"`
}

// Limits bound what callers may ask for.
type Limits struct {
	MinTTL          time.Duration `yaml:"min_ttl" positive:"true" jsonschema_description:"shortest lease that may be asked for"`
	MaxTTL          time.Duration `yaml:"max_ttl" positive:"true" jsonschema_description:"longest lease, and longest keepalive, that may be asked for"`
	WaitersPerLock  int           `yaml:"waiters_per_lock" jsonschema:"minimum=1" jsonschema_description:"callers that wait here for one name"`
	HoldsPerSession int           `yaml:"holds_per_session" jsonschema:"minimum=1" jsonschema_description:"names that one session holds"`
	HoldsPerUser    int           `yaml:"holds_per_user" jsonschema:"minimum=1" jsonschema_description:"names that one user holds in all of its sessions, counted as sessions are, with those that min_hold keeps"`
	WaitsPerSession int           `yaml:"waits_per_session" jsonschema:"minimum=1" jsonschema_description:"names that one session waits for"`
	Sessions        int           `yaml:"sessions" jsonschema:"minimum=1" jsonschema_description:"sessions at one time; the last hundredth of them is for administrators"`
	SessionsPerUser int           `yaml:"sessions_per_user" jsonschema:"minimum=1" jsonschema_description:"of them those of one user, token or certificate; all who come over TCP without any are one user"`
	EntriesPerHold  int           `yaml:"entries_per_hold" jsonschema:"minimum=1" jsonschema_description:"re-entries of one hold"`

	AnswersPerUser int `yaml:"answers_per_user" jsonschema:"minimum=1,maximum=131072" jsonschema_description:"answers to requests with an id that are remembered of one user, counted as sessions are"`
	Answers        int `yaml:"answers" jsonschema:"minimum=1,maximum=131072" jsonschema_description:"of them of all users; if those are too many, each has the same share"`

	RequestsPerSecond int `yaml:"requests_per_second" reload:"true" jsonschema:"minimum=0" jsonschema_description:"acquires, releases, looks and new sessions of one caller, on average; 0: as many as it likes"`
	RequestBurst      int `yaml:"request_burst" reload:"true" jsonschema:"minimum=0" jsonschema_description:"how many of them at once; 0: as many as in a second"`
}

// Shutdown is how the gateway stops.
type Shutdown struct {
	Holds   string        `yaml:"holds" jsonschema:"enum=keep,enum=release" jsonschema_description:"what becomes of the holds when the gateway stops: keep leaves them to their leases, so that nobody else gets a lock while its client still works; release gives them back at once"`
	Timeout time.Duration `yaml:"timeout" positive:"true" jsonschema_description:"how long a stop may take"`
}

// Admin is for administrators.
type Admin struct {
	TokenFile string `yaml:"token_file" reload:"true" secret:"true" jsonschema_description:"file with the admin token"`
}

// Log is the log.
type Log struct {
	Level  string `yaml:"level" reload:"true" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"least important message that is logged"`
	Format string `yaml:"format" jsonschema:"enum=auto,enum=json,enum=text" jsonschema_description:"auto: text on a terminal, JSON otherwise"`
}

// History is what is kept of what happened to callers.
type History struct {
	Keep    time.Duration `yaml:"keep" jsonschema_description:"how long what happened to callers is kept in state_dir/history; 0: it is not kept"`
	MaxSize ByteSize      `yaml:"max_size" jsonschema_description:"how much of it, the newest; 0: none"`
}

// Telemetry is what telemetry is told; where it goes is said by OTEL_*.
type Telemetry struct {
	Groups telemetry.Groups `yaml:"groups" jsonschema_description:"rules that sort lock names into groups, the lock.group of metrics; the first match counts"`
}

// Default is what runs without any file, variable or flag.
func Default() Config {
	return Config{
		Node:     hostName(),
		StateDir: defaultStateDir(),
		HTTP:     HTTP{Listen: []string{"127.0.0.1:7420"}},
		Socket:   Socket{Dir: cli.DefaultSocketDir(), Mode: 0o660},
		Backend:  Backend{URL: "memory://", Timeout: 2 * time.Second, Redis: Redis{Guard: "quarantine", Eviction: "refuse", Publish: "auto"}, Postgres: Postgres{Guard: "quarantine"}, MySQL: MySQL{Guard: "quarantine"}},
		Lock:     Lock{TTL: 30 * time.Second, MaxWait: 5 * time.Minute},
		Session:  Session{Keepalive: time.Minute, Reattach: 10 * time.Second, AnonymousMaxHold: time.Hour},
		Fairness: Fairness{Mode: "turns", MaxTurns: 64, MaxTurnTime: 50 * time.Millisecond},
		Limits: Limits{
			MinTTL: time.Second, MaxTTL: 24 * time.Hour,
			WaitersPerLock: 10_000, HoldsPerSession: 1024, HoldsPerUser: 65_536, WaitsPerSession: 64, Sessions: 100_000, SessionsPerUser: 20_000, EntriesPerHold: 1000,
			AnswersPerUser: 65_536, Answers: 131_072,
		},
		Access:   Access{Rules: AccessRules{}},
		Shutdown: Shutdown{Holds: "keep", Timeout: 20 * time.Second},
		Log:      Log{Level: "info", Format: "auto"},
		History:  History{Keep: 7 * 24 * time.Hour, MaxSize: 64 << 20},

		Telemetry: Telemetry{Groups: telemetry.Groups{}},
	}
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

func defaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/lockgw"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lockgw")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(cli.UserTempDir(), "state")
	}
	return filepath.Join(home, ".local", "state", "lockgw")
}

// Manager is the part of the configuration that the core decides by.
func (c Config) Manager() session.Config {
	return session.Config{
		Node:    c.Node,
		Store:   StoreText(c.Backend.URL),
		TTL:     c.Lock.TTL,
		Delay:   c.Lock.Delay,
		Timeout: c.Backend.Timeout,

		KeepHolds: c.Shutdown.Holds == "keep",

		Fairness: session.Fairness{
			Strict: c.Fairness.Mode == "strict", MaxTurns: c.Fairness.MaxTurns, MaxTurnTime: c.Fairness.MaxTurnTime,
			ExactOwner: c.Fairness.ExactOwner, Retain: c.Fairness.Retain,
		},
		Session: session.Lifetime{Keepalive: c.Session.Keepalive, AnonymousMaxHold: c.Session.AnonymousMaxHold, Reattach: c.Session.Reattach},
		Limits: session.Limits{
			MaxWait: c.Lock.MaxWait, MinTTL: c.Limits.MinTTL, MaxTTL: c.Limits.MaxTTL,
			WaitersPerLock: c.Limits.WaitersPerLock, HoldsPerSession: c.Limits.HoldsPerSession, HoldsPerUser: c.Limits.HoldsPerUser,
			WaitsPerSession: c.Limits.WaitsPerSession, Sessions: c.Limits.Sessions, SessionsPerUser: c.Limits.SessionsPerUser, Entries: c.Limits.EntriesPerHold,
			AnswersPerUser: c.Limits.AnswersPerUser, Answers: c.Limits.Answers,
		},
	}
}

// FileMode is the permission bits of a file.
type FileMode fs.FileMode

// ForDir is the mode of a directory whose sockets have mode m: who may use a
// socket must be able to reach it.
func (m FileMode) ForDir() fs.FileMode {
	dir := fs.FileMode(0o700)
	for _, class := range []fs.FileMode{0o070, 0o007} {
		if fs.FileMode(m)&class != 0 {
			dir |= 0o055 & class
		}
	}
	return dir
}
