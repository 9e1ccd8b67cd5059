/** The specification's tables of the frontend (2.6, section 8), row by row, as spec-tables.test.ts. */
import { cel, FRONTEND, letters, NAME_LONG, NO_DURATION, names, type Table, walk } from '#engine/testing/spec-table.ts'

const http = (given: object) => ({ http: given })
const keepalive = (given: object) => ({ tcp: { keepalive: given } })
const add = (...added: readonly unknown[]) => ({ accessLog: { attributes: { add: added } } })
const remove = (removed: unknown) => ({ accessLog: { attributes: { remove: removed } } })
const attribute = (name: string, expression = 'request.method') => ({ name, expression })
const BYTES = 'must be a whole number from 1 to 9007199254740991'

const ROWS: Table = {
  'FrontendTCP: at least keepalive': [
    [keepalive({ time: '180s' })],
    [[{ tcp: {} }, 'tcp: must have exactly one of keepalives, keepalive']]
  ],
  'Keepalive: time Duration; what Node cannot set is refused by name': [
    [keepalive({ time: '1s' })],
    [
      [keepalive({ time: 180 }), `tcp.keepalive.time: ${NO_DURATION}`],
      [keepalive({ retries: 9 }), "tcp.keepalive.retries: frontend setting 'retries' is not in this version of weir"],
      [keepalive({ interval: '180s' }), "tcp.keepalive.interval: frontend setting 'interval' is not in this version"]
    ]
  ],
  'FrontendHTTP: at least one of its fields': [[], [[http({}), 'http: must have at least one of maxBufferSize, ']]],
  'FrontendHTTP.maxBufferSize: min 1': [
    [http({ maxBufferSize: 1 })],
    [
      [http({ maxBufferSize: 0 }), `http.maxBufferSize: ${BYTES}`],
      [http({ maxBufferSize: 1.5 }), `http.maxBufferSize: ${BYTES}`]
    ]
  ],
  'FrontendHTTP.http1MaxHeaders: 1..4096': [
    [http({ http1MaxHeaders: 1 }), http({ http1MaxHeaders: 4096 })],
    [
      [http({ http1MaxHeaders: 0 }), 'http.http1MaxHeaders: must be a whole number from 1 to 4096'],
      [http({ http1MaxHeaders: 4097 }), 'http.http1MaxHeaders: must be a whole number from 1 to 4096']
    ]
  ],
  'FrontendHTTP.http1IdleTimeout: Duration': [
    [http({ http1IdleTimeout: '1ms' }), http({ http1IdleTimeout: '10m' })],
    [[http({ http1IdleTimeout: 600 }), `http.http1IdleTimeout: ${NO_DURATION}`]]
  ],
  'FrontendHTTP: HTTP/2 is refused by name': [
    [],
    [
      'http2WindowSize',
      'http2ConnectionWindowSize',
      'http2FrameSize',
      'http2KeepaliveInterval',
      'http2KeepaliveTimeout'
    ].map(
      (key) =>
        [http({ [key]: 16_384 }), `http.${key}: frontend setting '${key}' is not in this version of weir`] as const
    )
  ],
  'Frontend: tls and tracing are refused by name': [
    [],
    ['tls', 'tracing'].map(
      (key) => [{ [key]: {} }, `${key}: frontend policy '${key}' is not in this version of weir`] as const
    )
  ],
  'AccessLog.filter: CELExpression': [
    [{ accessLog: { filter: 'true' } }, { accessLog: {} }],
    [
      [{ accessLog: { filter: '' } }, 'accessLog.filter: must not be empty'],
      [{ accessLog: { filter: '1' } }, 'accessLog.filter: expression 1:1'],
      [{ accessLog: { filter: `${cel(16_385)}` } }, 'accessLog.filter: must have at most 16384 characters']
    ]
  ],
  'LogTracingAttributes: at least one of remove, add': [
    [],
    [[{ accessLog: { attributes: {} } }, 'accessLog.attributes: must have at least one of add, remove']]
  ],
  'LogTracingAttributes.remove: TinyString list, 1..32': [
    [remove(['http.method']), remove(names(32)), remove([letters(64)])],
    [
      [remove([]), 'accessLog.attributes.remove: must have 1 to 32 entries'],
      [remove(names(33)), 'accessLog.attributes.remove: must have 1 to 32 entries'],
      [remove(['']), 'accessLog.attributes.remove[0]: must not be empty'],
      [remove([letters(65)]), 'accessLog.attributes.remove[0]: must have at most 64 characters']
    ]
  ],
  'LogTracingAttributes.add: min 1; name ShortString, expression CELExpression, both required': [
    [add(attribute(letters(256))), add(attribute('a', cel(16_384))), add(...names(64).map((name) => attribute(name)))],
    [
      [add(), 'accessLog.attributes.add: must have 1 to 64 entries'],
      [add({ expression: '1' }), 'accessLog.attributes.add[0].name: is required'],
      [add({ name: 'a' }), 'accessLog.attributes.add[0].expression: is required'],
      [add(attribute('')), 'accessLog.attributes.add[0].name: must not be empty'],
      [add(attribute(letters(257))), `accessLog.attributes.add[0].name: ${NAME_LONG}`],
      [add(attribute('a', '')), 'accessLog.attributes.add[0].expression: must not be empty'],
      [add(attribute('a', cel(16_385))), 'accessLog.attributes.add[0].expression: must have at most 16384 characters'],
      [{ accessLog: { add: { [letters(257)]: '1' } } }, `accessLog.add.${letters(257)}: ${NAME_LONG}`]
    ]
  ]
}

walk(ROWS, FRONTEND)
