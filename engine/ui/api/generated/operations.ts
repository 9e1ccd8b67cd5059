/** Made from the operations of the admin API by npm run schema: not to be changed here. */
export interface GetStatusAnswer {
program: {
version: string
startedAt: string
}
isReady: boolean
pending: string[]
configuration: ({
hash: string
version: number
acceptedAt: string
} | null)
lastError: ({
at: string
message: string
} | null)
workers: {
id: number
state: ("starting" | "serving" | "draining" | "stopped")
startedAt: string
}[]
logLevel: string
}

export interface GetConfigurationAnswer {
hash: string
version: number
acceptedAt: string
snapshot: {
[k: string]: unknown
}
}

export interface ListBackendsAnswer {
backends: {
destination: string
addresses: {
address: string
host: string
weight: number
state: ("healthy" | "unreachable" | "unhealthy" | "ejected")
reason: string
forMs: number
requests: number
}[]
}[]
}

export interface GetLoggingAnswer {
level: string
}

export interface SetLoggingBody {
level: string
}

export interface SetLoggingAnswer {
level: string
}

export interface GetSeriesAnswer {
step: number
from: string
names: string[]
series: {
[k: string]: (number | null)[]
}
}

export interface GetTrafficAnswer {
seconds: number
routes: {
port: number
listener: string
route: string
requests: number
refused: number
failed: number
total: number
}[]
leftOut: number
}

export interface GetModelsAnswer {
seconds: number
models: {
provider: string
model: string
calls: number
failed: number
errors: {
type: string
calls: number
}[]
firstTokenMs: ({
p50: number
p99: number
} | null)
perTokenMs: ({
p50: number
p99: number
} | null)
}[]
leftOut: number
}

export interface GetSessionAnswer {
name: string
role: ("see" | "test" | "change")
csrf: string
}

export interface CheckConfigurationBody {
text: string
}

export interface CheckConfigurationAnswer {
isValid: boolean
isInForce: boolean
errors: {
line: number
column: number
path: string
message: string
hint: (string | null)
}[]
errorCount: number
warnings: string[]
}

export interface GetConfigurationTextAnswer {
file: string
text: (string | null)
textHash: (string | null)
isWritable: boolean
why: (string | null)
}

export interface SetConfigurationTextBody {
text: string
textHash: string
}

export interface SetConfigurationTextAnswer {
textHash: string
hash: string
warnings: string[]
}

export interface ListConfigurationVersionsAnswer {
versions: {
id: string
replacedAt: string
bytes: number
}[]
}

export interface GetConfigurationVersionAnswer {
id: string
text: string
}

export interface RestoreConfigurationVersionBody {
textHash: string
}

export interface RestoreConfigurationVersionAnswer {
textHash: string
hash: string
warnings: string[]
}

export interface ExplainBody {
method: string
url: string
headers?: ({
[k: string]: string
} | []|[string]|[string, string][])
body?: string
from?: string
cert?: string
httpVersion?: ("2" | "1.1" | "2-prior-knowledge")
[k: string]: unknown
}

export interface ExplainAnswer {
request: {
method: string
url: string
[k: string]: unknown
}
listener: ({
name: string
[k: string]: unknown
} | null)
route: ({
name: string
[k: string]: unknown
} | null)
policies: {
policy: string
verdict: string
[k: string]: unknown
}[]
outcome: {
kind: string
[k: string]: unknown
}
notes: string[]
[k: string]: unknown
}

export interface ArmTraceBody {
uses?: number
lifetime?: number
}

export interface ArmTraceAnswer {
id: string
token: string
header: string
expires: string
}

export interface GetTraceAnswer {
id: string
stories: {
requestId: string
[k: string]: unknown
}[]
}

export interface TryExpressionBody {
expression: string
place?: ("request" | "mcp" | "response" | "log")
sample?: {
[k: string]: unknown
}
}

export type TryExpressionAnswer = ({
ok: false
problems: {
message: string
field?: string
line?: number
column?: number
offset?: number
length?: number
}[]
} | {
ok: true
type: string
error: ({
code: string
message: string
} | null)
value?: unknown
valueType?: string
reads: {
name: string
value?: unknown
}[]
cost: {
steps: number
stepsMax: number
perElement: number
}
})

export interface TryGuardBody {
text: string
builtins?: ("Ssn" | "CreditCard" | "PhoneNumber" | "Email" | "CaSin")[]
matches?: string[]
}

export interface TryGuardAnswer {
found: {
start: number
end: number
mask: string
}[]
masked: string
}

export interface SendRequestBody {
method: string
url: string
headers?: []|[string]|[string, string][]
body?: string
}

export interface ListKeysAnswer {
keys: {
name: string
source: ("api" | "configuration")
owner?: string
team?: string
organisation?: string
tags?: string[]
models?: string[]
expires?: string
revoked?: boolean
createdAt?: string
changedAt?: string
previousValidUntil?: string
[k: string]: unknown
}[]
}

export type CreateKeyBodySchema0 = (string | number | boolean | null | CreateKeyBodySchema0[] | {
[k: string]: CreateKeyBodySchema0
})

export interface CreateKeyBody {
name: string
owner?: string
team?: string
organisation?: string
tags?: string[]
metadata?: {
[k: string]: CreateKeyBodySchema0
}
expires?: string
revoked?: boolean
budgets?: {
period?: ("Hour" | "Day" | "Week" | "Month" | "Total" | "hour" | "day" | "week" | "month" | "total")
rolling?: string
amount: (number | string)
timeZone?: string
startsAt?: string
}[]
limits?: {
requests?: number
tokens?: number
unit: ("Seconds" | "Minutes" | "Hours" | "Days")
burst?: number
}[]
concurrency?: number
models?: string[]
}

export interface CreateKeyAnswer {
name: string
source: ("api" | "configuration")
owner?: string
team?: string
organisation?: string
tags?: string[]
models?: string[]
expires?: string
revoked?: boolean
createdAt?: string
changedAt?: string
previousValidUntil?: string
key: string
[k: string]: unknown
}

export interface GetKeyAnswer {
name: string
source: ("api" | "configuration")
owner?: string
team?: string
organisation?: string
tags?: string[]
models?: string[]
expires?: string
revoked?: boolean
createdAt?: string
changedAt?: string
previousValidUntil?: string
[k: string]: unknown
}

export interface ChangeKeyBody {
revoked?: boolean
[k: string]: unknown
}

export interface ChangeKeyAnswer {
name: string
source: ("api" | "configuration")
owner?: string
team?: string
organisation?: string
tags?: string[]
models?: string[]
expires?: string
revoked?: boolean
createdAt?: string
changedAt?: string
previousValidUntil?: string
[k: string]: unknown
}

export interface RotateKeyBody {
gracePeriod?: string
}

export interface RotateKeyAnswer {
name: string
source: ("api" | "configuration")
owner?: string
team?: string
organisation?: string
tags?: string[]
models?: string[]
expires?: string
revoked?: boolean
createdAt?: string
changedAt?: string
previousValidUntil?: string
key: string
[k: string]: unknown
}

export interface ListBudgetsAnswer {
budgets: {
account: string
period: string
amount: string
spent: string
reserved: string
resetsAt: (string | null)
}[]
}

export interface SumSpendAnswer {
from: string
to: string
isComplete: boolean
sums: {
calls: number
cost: string
currency: string
[k: string]: unknown
}[]
}

export interface ListSpendAnswer {
keepsPrompts: boolean
records: {
id: string
time: string
status: number
[k: string]: unknown
}[]
next: (string | null)
}

export interface ListPromptsAnswer {
keepsPrompts: boolean
records: {
id: string
time: string
status: number
content: ({
prompt: {
role: string
content: string
}[]
answer: string[]
toolCalls: {
id: string
name: string
arguments: string
}[]
isCut: boolean
} | null)
[k: string]: unknown
}[]
next: (string | null)
}

export interface GetDocumentAnswer {
openapi: string
paths: {
[k: string]: unknown
}
[k: string]: unknown
}

export interface Operations {
  getStatus: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetStatusAnswer }
  getConfiguration: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetConfigurationAnswer }
  listBackends: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListBackendsAnswer }
  getLogging: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetLoggingAnswer }
  setLogging: { names: Record<string, never>; query: Record<string, never>; body: SetLoggingBody; answer: SetLoggingAnswer }
  getSeries: { names: Record<string, never>; query: { names?: string; range?: string; step?: string }; body: undefined; answer: GetSeriesAnswer }
  getTraffic: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetTrafficAnswer }
  getModels: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetModelsAnswer }
  getSession: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetSessionAnswer }
  checkConfiguration: { names: Record<string, never>; query: Record<string, never>; body: CheckConfigurationBody; answer: CheckConfigurationAnswer }
  getConfigurationText: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetConfigurationTextAnswer }
  setConfigurationText: { names: Record<string, never>; query: Record<string, never>; body: SetConfigurationTextBody; answer: SetConfigurationTextAnswer }
  listConfigurationVersions: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListConfigurationVersionsAnswer }
  getConfigurationVersion: { names: { id: string }; query: Record<string, never>; body: undefined; answer: GetConfigurationVersionAnswer }
  restoreConfigurationVersion: { names: { id: string }; query: Record<string, never>; body: RestoreConfigurationVersionBody; answer: RestoreConfigurationVersionAnswer }
  explain: { names: Record<string, never>; query: Record<string, never>; body: ExplainBody; answer: ExplainAnswer }
  armTrace: { names: Record<string, never>; query: Record<string, never>; body: ArmTraceBody; answer: ArmTraceAnswer }
  getTrace: { names: { id: string }; query: Record<string, never>; body: undefined; answer: GetTraceAnswer }
  tryExpression: { names: Record<string, never>; query: Record<string, never>; body: TryExpressionBody; answer: TryExpressionAnswer }
  tryGuard: { names: Record<string, never>; query: Record<string, never>; body: TryGuardBody; answer: TryGuardAnswer }
  sendRequest: { names: Record<string, never>; query: Record<string, never>; body: SendRequestBody; answer: undefined }
  listKeys: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListKeysAnswer }
  createKey: { names: Record<string, never>; query: Record<string, never>; body: CreateKeyBody; answer: CreateKeyAnswer }
  getKey: { names: { name: string }; query: Record<string, never>; body: undefined; answer: GetKeyAnswer }
  changeKey: { names: { name: string }; query: Record<string, never>; body: ChangeKeyBody; answer: ChangeKeyAnswer }
  removeKey: { names: { name: string }; query: Record<string, never>; body: undefined; answer: undefined }
  rotateKey: { names: { name: string }; query: Record<string, never>; body: RotateKeyBody; answer: RotateKeyAnswer }
  listBudgets: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListBudgetsAnswer }
  sumSpend: { names: Record<string, never>; query: { groupBy?: string; key?: string | readonly string[]; team?: string | readonly string[]; organisation?: string | readonly string[]; model?: string | readonly string[]; provider?: string | readonly string[]; purpose?: string | readonly string[]; from?: string; to?: string; limit?: string; format?: string }; body: undefined; answer: SumSpendAnswer }
  listSpend: { names: Record<string, never>; query: { cursor?: string; key?: string | readonly string[]; team?: string | readonly string[]; organisation?: string | readonly string[]; model?: string | readonly string[]; provider?: string | readonly string[]; purpose?: string | readonly string[]; id?: string | readonly string[]; owner?: string | readonly string[]; subject?: string | readonly string[]; clientModel?: string | readonly string[]; requestModel?: string | readonly string[]; backend?: string | readonly string[]; route?: string | readonly string[]; status?: string | readonly string[]; errorType?: string | readonly string[]; cache?: string | readonly string[]; costBasis?: string | readonly string[]; traceId?: string | readonly string[]; from?: string; to?: string; limit?: string; format?: string }; body: undefined; answer: ListSpendAnswer }
  listPrompts: { names: Record<string, never>; query: { cursor?: string; key?: string | readonly string[]; team?: string | readonly string[]; organisation?: string | readonly string[]; model?: string | readonly string[]; provider?: string | readonly string[]; purpose?: string | readonly string[]; id?: string | readonly string[]; owner?: string | readonly string[]; subject?: string | readonly string[]; clientModel?: string | readonly string[]; requestModel?: string | readonly string[]; backend?: string | readonly string[]; route?: string | readonly string[]; status?: string | readonly string[]; errorType?: string | readonly string[]; cache?: string | readonly string[]; costBasis?: string | readonly string[]; traceId?: string | readonly string[]; from?: string; to?: string; limit?: string; format?: string }; body: undefined; answer: ListPromptsAnswer }
  getDocument: { names: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetDocumentAnswer }
}

export const OPERATIONS = {
  getStatus: { method: 'GET', path: '/status', role: 'see' },
  getConfiguration: { method: 'GET', path: '/configuration', role: 'see' },
  listBackends: { method: 'GET', path: '/backends', role: 'see' },
  getLogging: { method: 'GET', path: '/logging', role: 'see' },
  setLogging: { method: 'PUT', path: '/logging', role: 'change' },
  getSeries: { method: 'GET', path: '/series', role: 'see' },
  getTraffic: { method: 'GET', path: '/traffic', role: 'see' },
  getModels: { method: 'GET', path: '/models', role: 'see' },
  getSession: { method: 'GET', path: '/session', role: 'see' },
  checkConfiguration: { method: 'POST', path: '/configuration/check', role: 'change' },
  getConfigurationText: { method: 'GET', path: '/configuration/text', role: 'change' },
  setConfigurationText: { method: 'PUT', path: '/configuration/text', role: 'change' },
  listConfigurationVersions: { method: 'GET', path: '/configuration/versions', role: 'change' },
  getConfigurationVersion: { method: 'GET', path: '/configuration/versions/{id}', role: 'change' },
  restoreConfigurationVersion: { method: 'POST', path: '/configuration/versions/{id}/restore', role: 'change' },
  explain: { method: 'POST', path: '/explain', role: 'test' },
  armTrace: { method: 'POST', path: '/traces', role: 'test' },
  getTrace: { method: 'GET', path: '/traces/{id}', role: 'see' },
  tryExpression: { method: 'POST', path: '/cel', role: 'test' },
  tryGuard: { method: 'POST', path: '/guards', role: 'test' },
  sendRequest: { method: 'POST', path: '/send', role: 'test' },
  listKeys: { method: 'GET', path: '/keys', role: 'see' },
  createKey: { method: 'POST', path: '/keys', role: 'change' },
  getKey: { method: 'GET', path: '/keys/{name}', role: 'see' },
  changeKey: { method: 'PATCH', path: '/keys/{name}', role: 'change' },
  removeKey: { method: 'DELETE', path: '/keys/{name}', role: 'change' },
  rotateKey: { method: 'POST', path: '/keys/{name}/rotate', role: 'change' },
  listBudgets: { method: 'GET', path: '/budgets', role: 'see' },
  sumSpend: { method: 'GET', path: '/spend', role: 'see' },
  listSpend: { method: 'GET', path: '/spend/records', role: 'see' },
  listPrompts: { method: 'GET', path: '/spend/prompts', role: 'change' },
  getDocument: { method: 'GET', path: '/openapi.json', role: 'see' }
} as const
