export { makeCertificate } from './certificate.ts'
export { SnapshotClient, type SnapshotClientOptions } from './client.ts'
export type { DataPlane, GatewayName, PublishedGateway } from './published.ts'
export { SnapshotServer, type SnapshotServerOptions } from './server.ts'
