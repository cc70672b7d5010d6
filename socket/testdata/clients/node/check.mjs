// What every Node client has to get from a lockgw socket.
// connect(options) gives {call(...args), subscribe(pattern, listener), close()}.
export async function check(name, connect, protocols) {
  for (const protocol of protocols) {
    await checkOne(`${name} RESP${protocol ?? ' default'}`, (more) => connect({ protocol, ...more }))
  }
}

function expect(what, got, ok) {
  if (!ok) throw new Error(`${what} = ${JSON.stringify(got)}`)
}

async function checkOne(name, connect) {
  const a = await connect({})
  const b = await connect({})
  const is = (what, got, want) => expect(`${name}: ${what}`, got, got === want)
  is('PING', await a.call('PING'), 'PONG')
  const fence = await a.call('LOCK', 'node', 'WAIT', '1', 'NOTE', 'two words')
  expect(`${name}: LOCK`, fence, Number.isInteger(fence) && fence > 0)
  is('LOCK of a held name', await b.call('LOCK', 'node'), null)
  is('re-entry', await a.call('LOCK', 'node'), fence)
  is('UNLOCK', await a.call('UNLOCK', 'node'), 1)
  is('UNLOCK', await a.call('UNLOCK', 'node'), 0)
  const error = await a.call('UNLOCK', 'node').then((v) => v, (e) => e)
  expect(`${name}: UNLOCK of nothing`, String(error), error instanceof Error && error.message.startsWith('NOTHELD '))
  const full = await a.call('LOCK', 'node', 'FULL')
  const fields = Array.isArray(full) ? Object.fromEntries(full.flatMap((v, i) => (i % 2 ? [] : [[v, full[i + 1]]]))) : full
  expect(`${name}: FULL`, full, fields.name === 'node' && fields.fence > fence)
  await a.call('UNLOCK', 'node')

  const events = await connect({})
  const seen = new Promise((resolve) => events.subscribe('lock:*', (channel, data) => resolve({ channel, ...JSON.parse(data) })).then(() => a.call('LOCK', 'seen')))
  const event = await seen
  expect(`${name}: event`, event, event.channel === 'lock:seen' && event.event === 'acquired')
  await events.close()

  await a.call('SESSION', 'END')
  const token = await a.call('SESSION', 'NEW')
  const c = await connect({ password: token })
  is('the same session', await c.call('LOCK', 'shared'), await a.call('LOCK', 'shared'))
  await a.call('SESSION', 'END')
  await Promise.all([a.close(), b.close(), c.close()])
}

// What docs/reference/socket.md warns of: the client gives up the command and keeps the connection,
// so that the wait goes on, and ends with a lock that only the end of the connection gives back.
export async function checkGivenUp(name, connect) {
  const a = await connect({})
  const impatient = await connect({ commandTimeout: 200 })
  await a.call('LOCK', 'given-up')
  const error = await impatient.call('LOCK', 'given-up', 'WAIT', '60').then((v) => v, (e) => e)
  expect(`${name}: LOCK given up`, String(error), error instanceof Error && error.message === 'Command timed out')
  await a.call('UNLOCK', 'given-up')
  const got = await a.call('LOCK', 'given-up')
  expect(`${name}: LOCK of what the connection has got`, got, got === null)
  await impatient.close()
  const fence = await a.call('LOCK', 'given-up', 'WAIT', '60')
  expect(`${name}: LOCK of what the connection has left`, fence, fence > 0)
  await a.close()
}
