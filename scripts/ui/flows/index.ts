/** What people do on each page: every page has a flow at least. */
import { configurationFlows } from './configuration.ts'
import type { Flow } from './flow.ts'
import { keysFlows } from './keys.ts'
import { mcpFlows } from './mcp.ts'
import { modelsFlows } from './models.ts'
import { overviewFlows } from './overview.ts'
import { policiesFlows } from './policies.ts'
import { requestsFlows } from './requests.ts'
import { routesFlows } from './routes.ts'
import { spendFlows } from './spend.ts'

export const FLOWS: readonly Flow[] = [
  ...overviewFlows,
  ...configurationFlows,
  ...routesFlows,
  ...requestsFlows,
  ...modelsFlows,
  ...mcpFlows,
  ...keysFlows,
  ...spendFlows,
  ...policiesFlows
]
