export { CLUSTER_DOMAIN, endpointsOf, type ServiceEndpoint, type ServiceEndpoints } from './endpoints.ts'
