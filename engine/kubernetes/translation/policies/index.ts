/** GatewayBackends and GatewayPolicies -> entries of `backends`, sets of policies, `frontendPolicies`, statuses. */
export { authenticationAround, authenticationOf } from './authentication.ts'
export { translateBackend } from './backend.ts'
export { mergeLevels } from './merge.ts'
export type * from './options.ts'
export { secretEntries } from './secrets.ts'
export { withServicePolicies } from './service.ts'
export { backendStatus, policyStatus } from './statuses.ts'
export { frontendOf, policiesOf } from './target-policies.ts'
