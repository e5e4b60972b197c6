//! Matches and actions that the record lacks: `ovs-ofctl` reads the text, we read its bytes and print the text again,
//! and `ovs-ofctl` prints it once more from our bytes.

use antrea_openflow::{FlowMod, Message};

use crate::ofctl;

#[track_caller]
fn check(test: &str, flows: &[&str]) {
    if !ofctl::available(test) {
        return;
    }
    let changes = ofctl::changes_by("add-flows", &["-"], &flows.join("\n"));
    let changes: Vec<FlowMod> = changes
        .into_iter()
        .map(|message| match message {
            Message::FlowMod(change) => change,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(changes.iter().map(|change| change.flow.to_string()).collect::<Vec<_>>(), flows);
    for change in changes {
        assert_eq!(ofctl::print(&Message::FlowMod(change.clone())), change.to_string());
    }
}

#[test]
fn metadata_matches() {
    check(
        "metadata_matches",
        &[
            "pkt_mark=0x1,conj_id=7,ct_state=+new+trk,ct_zone=5,ct_mark=0x10/0x10,ip actions=drop",
            "ct_state=-new+est-rel+rpl-inv+trk,ct_label=0x200000000/0xffffffff00000000,ip actions=drop",
            "ct_state=new|trk,ct_label=0,ip,nw_proto=47 actions=drop",
            "ct_state=0,ip actions=drop",
            "ct_state=+new,ct_nw_src=1.2.3.0/24,ct_nw_dst=10.0.0.1,ct_nw_proto=6,ct_tp_src=0x10/0xf0,ct_tp_dst=80,tcp actions=drop",
            "ct_state=+new,ct_ipv6_src=fd00::/64,ct_ipv6_dst=fd00::1,ipv6 actions=drop",
            "reg0=0/0xff,reg15=0x1234,tun_id=0xffffff,metadata=0x5/0xff,in_port=3 actions=drop",
            "tun_src=1.1.1.1,tun_dst=2.2.2.0/24 actions=drop",
            "tun_ipv6_src=fd00::1,tun_ipv6_dst=fd00::/64 actions=drop",
            "in_port=LOCAL actions=drop",
            "actset_output=3 actions=drop",
        ],
    );
}

#[test]
fn packet_matches() {
    check(
        "packet_matches",
        &[
            "dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02/00:00:00:00:00:ff actions=drop",
            "dl_vlan=100 actions=drop",
            "dl_vlan=100,dl_vlan_pcp=3,dl_type=0x88cc actions=drop",
            "dl_vlan_pcp=3 actions=drop",
            "vlan_tci=0x1000/0x1000 actions=drop",
            "vlan_tci=0x0000/0x1fff actions=drop",
            "arp,arp_spa=1.2.3.4,arp_tpa=1.2.3.0/24,arp_op=2,arp_sha=00:00:00:00:00:01,arp_tha=00:00:00:00:00:02 actions=drop",
            "tcp,nw_src=10.0.0.0/8,nw_dst=10.0.0.0/255.0.255.0,nw_tos=4,nw_ecn=1,nw_ttl=3,tp_dst=0x1f40/0xffc0,tcp_flags=+syn-ack actions=drop",
            "ip,nw_frag=later actions=drop",
            "ip,nw_frag=no actions=drop",
            "ip,nw_frag=not_later actions=drop",
            "ip,nw_proto=47 actions=drop",
            "sctp,tp_src=5,tp_dst=6 actions=drop",
            "icmp,icmp_type=8,icmp_code=0 actions=drop",
            "ipv6,ipv6_src=fd00::1,ipv6_dst=fe80::/10,ipv6_label=0x00012 actions=drop",
            "udp6,tp_src=53 actions=drop",
            "sctp6 actions=drop",
            "tcp6,tp_dst=443,tcp_flags=+syn actions=drop",
            "icmp6,icmp_type=135,nd_target=fd00::1,nd_sll=00:00:00:00:00:01 actions=drop",
            "icmp6,icmp_type=136,nd_tll=00:00:00:00:00:01 actions=drop",
        ],
    );
}

#[test]
fn flow_attributes() {
    check(
        "flow_attributes",
        &[
            "actions=drop",
            "cookie=0x1, table=3, idle_timeout=5, hard_timeout=6, send_flow_rem importance=3, priority=7,ip actions=drop",
            "check_overlap reset_counts no_packet_counts no_byte_counts actions=drop",
            "priority=0 actions=goto_table:7",
        ],
    );
}

#[test]
fn outputs_and_controllers() {
    check(
        "outputs_and_controllers",
        &[
            "actions=output:1,IN_PORT,NORMAL,FLOOD,ALL,LOCAL,CONTROLLER:65535,TABLE",
            "actions=output:NXM_NX_REG1[0..15],output:NXM_NX_REG1[]",
            "actions=controller(max_len=128,id=5,userdata=01.02,pause,meter_id=3)",
            "actions=controller(reason=no_match,id=5),controller(id=5),controller(max_len=7,id=5)",
            "actions=controller(reason=invalid_ttl,id=5,userdata=01,pause)",
            "actions=meter:5,group:4294967040,group:1,ct_clear",
            "actions=resubmit:3,resubmit(1,2),resubmit(,2)",
            "actions=note:01.00.00.00.00.00,note:01.02.03.04.05.06.07.00.00.00.00.00.00.00",
            "actions=conjunction(4294967295,64/64),conjunction(1,1/2)",
            "actions=push_vlan:0x8100,set_field:4196->vlan_vid,pop_vlan",
            "ip actions=dec_ttl",
        ],
    );
}

#[test]
fn rewrites() {
    check(
        "rewrites",
        &[
            "tcp actions=set_field:80->tcp_dst,set_field:80/0xff->tcp_src,set_field:3->ip_dscp,set_field:1->nw_ecn",
            "ip actions=set_field:1.2.3.4->ip_src,set_field:1.2.0.0/16->ip_dst,set_field:5->nw_ttl",
            "ip actions=set_field:1.0.3.0/255.0.255.0->ip_dst",
            "ipv6 actions=set_field:fd00::1->ipv6_src,set_field:fd00::/64->ipv6_dst",
            "actions=set_field:00:00:00:00:00:01/00:00:00:00:00:ff->eth_dst,set_field:00:00:00:00:00:01->eth_src",
            "actions=set_field:0x12000000000000000000000000000000/0xff000000000000000000000000000000->xxreg1,set_field:0->xxreg2",
            "actions=set_field:0x1200000034->xreg1,set_field:0x5->metadata,set_field:0xa/0xff->tun_id",
            "actions=set_field:fd00::4->tun_ipv6_dst,set_field:1.2.3.4->tun_dst,set_field:0x1/0xff->pkt_mark",
            "actions=set_field:0->reg3,set_field:0/0x1800->reg0,set_field:1->in_port",
            "actions=move:NXM_NX_REG0[0..3]->NXM_NX_REG1[4..7],move:NXM_NX_XXREG3[]->NXM_NX_XXREG2[]",
            "dl_vlan=3 actions=move:NXM_NX_CT_LABEL[64..75]->OXM_OF_VLAN_VID[]",
            "icmp6,icmp_type=135 actions=set_field:136->icmpv6_type,set_field:fd00::1->nd_target",
            "sctp actions=set_field:80->sctp_dst",
        ],
    );
}

#[test]
fn connection_tracking() {
    check(
        "connection_tracking",
        &[
            "ip actions=ct(),ct(nat),ct(table=5),ct(table=5,zone=65520,nat)",
            "ip actions=ct(table=4,zone=NXM_NX_REG8[0..15],nat),ct(commit,zone=NXM_NX_REG8[0..15])",
            "tcp actions=ct(commit,alg=ftp),ct(commit,force),ct(commit,force,table=3,zone=1)",
            "udp actions=ct(commit,alg=tftp)",
            "tcp actions=ct(commit,nat(src=1.1.1.1)),ct(commit,nat(dst=1.1.1.1:80))",
            "tcp actions=ct(commit,nat(src=1.1.1.1-1.1.1.5:10-20,persistent,random)),ct(commit,nat(src=1.1.1.1,hash))",
            "tcp6 actions=ct(commit,nat(dst=[fd00::1]:80)),ct(commit,nat(dst=fd00::1)),ct(commit,nat(dst=fd00::1-fd00::4))",
            "tcp6 actions=ct(commit,nat(dst=[fd00::1]-[fd00::5]:80-90))",
            "ip actions=ct(commit,table=4,zone=1,nat(src=1.1.1.1),exec(set_field:0x1->ct_mark,move:NXM_NX_REG0[]->NXM_NX_CT_MARK[]))",
            "ip actions=ct(commit,exec(set_field:0x3->ct_label,set_field:0x100000000/0xffffffff00000000->ct_label))",
        ],
    );
}

#[test]
fn learning() {
    check(
        "learning",
        &[
            "tcp actions=learn(table=3,idle_timeout=160,hard_timeout=300,fin_idle_timeout=5,fin_hard_timeout=6,priority=200,send_flow_rem,delete_learned,cookie=0x203000000000a,eth_type=0x800,nw_proto=6,NXM_OF_TCP_DST[],NXM_OF_IP_DST[]=NXM_OF_IP_SRC[],load:NXM_NX_REG4[0..15]->NXM_NX_REG4[0..15],load:0x2->NXM_NX_REG4[16..18],reg3=0x5,output:NXM_OF_IN_PORT[])",
            "tcp6 actions=learn(table=3,eth_type=0x86dd,nw_proto=6,NXM_OF_TCP_DST[],NXM_NX_IPV6_DST[],ipv6_src=fd00::1,load:NXM_NX_XXREG3[]->NXM_NX_XXREG3[],NXM_NX_REG4[0..3]=0x2,load:0x1->NXM_NX_REG0[9],metadata=0x5,tun_id=0x4)",
            "udp actions=learn(table=3,hard_timeout=300,delete_learned,cookie=0xa,limit=5,eth_type=0x800,nw_proto=17,NXM_OF_IP_SRC[],load:0x2->NXM_NX_REG4[16..18])",
            "sctp actions=learn(table=3,eth_type=0x800,nw_proto=132,OXM_OF_SCTP_DST[],ip_dst=1.2.3.4)",
        ],
    );
}

/// What we do not have is kept as it is: `ovs-ofctl` prints the same from our bytes as from its own.
#[test]
fn foreign_flows_survive() {
    let test = "foreign_flows_survive";
    if !ofctl::available(test) {
        return;
    }
    for text in [
        "ip,tun_flags=+oam actions=drop",
        "mpls,mpls_label=5 actions=drop",
        "dl_type=0x894f,nsh_spi=0x5 actions=drop",
        "ip actions=multipath(symmetric_l4,1024,hrw,12,0,NXM_NX_REG0[5..10]),exit",
        "ct_state=+new+trk,tcp actions=resubmit(,3,ct),fin_timeout(idle_timeout=5)",
        "tcp actions=ct(commit,zone=1,nat(src)),ct(commit,nat)",
        "ip actions=clear_actions,write_actions(output:3),write_metadata:0x5/0xff,goto_table:3",
        "ip actions=output(port=2,max_len=100),set_queue:2,pop_queue,CONTROLLER:100",
    ] {
        let changes = ofctl::changes_by("add-flow", &[text], "");
        let [message @ Message::FlowMod(_)] = changes.as_slice() else { panic!("{changes:?}") };
        assert_eq!(&Message::decode(&ofctl::encoded(message)).unwrap().1, message);
        assert_eq!(ofctl::print(message), format!("ADD {text}"));
    }
}
